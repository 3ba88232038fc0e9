"""The controller config file: what containers get that ask for an accelerator, as the first operators read it.

Old files were written against parsers that overlooked much, so this one does too; but what would make pods that the
API server refuses is told before the first of them is made.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from trainop.errors import Usage
from trainop.model import Accelerator, HostVolume

NAMES = ("controller-config-file.yaml", "controller_config_file.yaml")
"""Keys of a ConfigMap under which the file has been kept."""
SERVER = "grpcserverfilepath"
"""Once the path of a script for parameter servers, which need none; some READMEs had it among the accelerators."""
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,49}[a-z0-9])?")
_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")
_RESOURCE = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

log = logging.getLogger(__name__)


def load(path: str) -> tuple[Accelerator, ...]:
    """Those of the file. Raises Usage with the file's name and the field when it cannot be used."""
    try:
        return read(Path(path).read_text())
    except OSError as error:
        raise Usage(f"the controller config file {path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, Usage) as error:
        raise Usage(f"the controller config file {path} cannot be used: {error}") from None


def read(text: str) -> tuple[Accelerator, ...]:
    config = _unwrapped(_mapping("the file", yaml.safe_load(text)))
    _overlook(config.keys() - {"accelerators", SERVER})
    found = _mapping("accelerators", config.get("accelerators"), any_case=False)
    misplaced = {name for name in found if name.lower() == SERVER}
    _overlook(misplaced, "accelerators.")
    return tuple(_accelerator(name, value) for name, value in found.items() if name not in misplaced)


def _overlook(keys: Iterable[str], where: str = "") -> None:
    for key in sorted(keys):
        log.warning("controller config file: %s%s is not used", where, key)


def _unwrapped(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a whole ConfigMap, or of one that was put into another, what it holds."""
    if str(config.get("kind")) != "ConfigMap":
        return config
    data = _mapping("data", config.get("data"))
    inner = next((data[name] for name in NAMES if name in data), None)
    if inner is None:
        raise Usage(f"the ConfigMap has no key {' or '.join(NAMES)}")
    return _unwrapped(_mapping("the file in the ConfigMap", yaml.safe_load(str(inner))))


def _accelerator(resource: str, value: Any) -> Accelerator:
    where = f"accelerators.{resource}"
    if not _RESOURCE.fullmatch(resource):
        raise Usage(f"{where}: that is no name of a resource; write one such as nvidia.com/gpu")
    known = _mapping(where, value)
    _overlook(known.keys() - {"volumes", "envvars"}, f"{where}.")
    volumes = [
        HostVolume(
            _text(place, entry, "name", _LABEL, "lower-case letters, digits and dashes"),
            _path(place, entry, "mountPath"),
            _path(place, entry, "hostPath"),
        )
        for place, entry in _entries(f"{where}.volumes", known.get("volumes"))
    ]
    env = [
        (_text(place, entry, "name", _VARIABLE, "letters, digits and _"), _value(place, entry))
        for place, entry in _entries(f"{where}.envVars", known.get("envvars"))
    ]
    return Accelerator(resource, tuple(volumes), tuple(env))


def _entries(where: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if value is not None and not isinstance(value, list):
        raise Usage(f"{where}: must be a list, not {value!r}")
    for number, entry in enumerate(value or ()):
        yield f"{where}[{number}]", _mapping(f"{where}[{number}]", entry)


def _mapping(where: str, value: Any, *, any_case: bool = True) -> Mapping[str, Any]:
    """With its keys in lower case, as they are read in any; nothing at all is an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise Usage(f"{where}: must be a mapping of names to values, not {value!r}")
    return {str(key).lower() if any_case else str(key): item for key, item in (value or {}).items()}


def _text(where: str, entry: Mapping[str, Any], field: str, pattern: re.Pattern[str], of_what: str) -> str:
    value = entry.get(field.lower())
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Usage(f"{where}.{field}: must be text of {of_what}, not {value!r}")
    return value


def _path(where: str, entry: Mapping[str, Any], field: str) -> str:
    value = entry.get(field.lower())
    if not isinstance(value, str) or not value.startswith("/") or ".." in value.split("/"):
        raise Usage(f"{where}.{field}: must be a path that begins with / and has no .. in it, not {value!r}")
    return value


def _value(where: str, entry: Mapping[str, Any]) -> str:
    value = entry.get("value")
    if value is not None and not isinstance(value, str):
        raise Usage(f"{where}.value: must be text, not {value!r}; put it in quotes")
    return value or ""
