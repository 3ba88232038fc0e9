"""Which framework is meant: an installed one by its name, MODULE:ATTRIBUTE, or a file or folder."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from trainop import registry
from trainop.errors import Usage
from trainop.files import guess
from trainop.registry import GROUP

ATTRIBUTE = "FRAMEWORK"


def load(target: str) -> object:
    """Whatever is there. Raises Usage when nothing is; else what the code of the module raises."""
    if Path(target).suffix == ".py" or _is_folder(target):
        return _from_path(Path(target))
    module, _, attribute = target.partition(":")
    if attribute:
        _look_around()
        return _attribute(import_module(module), attribute)
    installed = _installed()
    if target not in installed:
        like = guess.meant(target, installed)
        known = f"did you mean {like}?" if like else f"installed are {', '.join(sorted(installed))}"
        raise Usage(f"no framework is called {target}; {known} Else name MODULE:ATTRIBUTE or a path.")
    return installed[target].load()


def home(target: str) -> Path | None:
    """The folder or the file of a framework; None: there is none."""
    if Path(target).suffix == ".py" or _is_folder(target):
        return Path(target)
    installed = _installed()
    module, _, attribute = target.partition(":")
    if attribute:
        _look_around()
    return registry.source(installed[target].module if target in installed else module)


def _look_around() -> None:
    """As `python -m` does: who writes a framework stands in its folder."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def _is_folder(target: str) -> bool:
    """One that only happens to be called like an installed framework is none."""
    return os.path.isdir(target) and (
        os.path.exists(os.path.join(target, "__init__.py")) or target not in _installed()
    )


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _from_path(path: Path) -> object:
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise Usage(f"{file}: there is no such file; name a Python file, or a folder with an __init__.py")
    name = _checked(path)
    around = path.resolve().parent
    if path.is_dir() and (around / "__init__.py").is_file():
        # A folder of a package may import what lies beside it.
        _module(_checked(around), around / "__init__.py", around)
        name = f"{_checked(around)}.{name}"
    return _attribute(_module(name, file, path if path.is_dir() else None), ATTRIBUTE)


def _attribute(module: ModuleType, name: str) -> object:
    if not hasattr(module, name):
        raise AttributeError(f"there is no {name} in {module.__file__}")
    return getattr(module, name)


def _checked(path: Path) -> str:
    return f"checked_{path.resolve().stem.replace('-', '_')}"


def _module(name: str, file: Path, folder: Path | None) -> ModuleType:
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(folder)] if folder else None)
    if spec is None or spec.loader is None:
        raise Usage(f"{file}: this is no Python module")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
