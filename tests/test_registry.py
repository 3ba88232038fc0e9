"""Frameworks are found when they are installed; one that cannot be used is named, with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

from trainop import cli, registry
from trainop.errors import BrokenFramework
from trainop.framework import Framework
from trainop.model import GVK

LIKE_TENSORFLOW = """
from dataclasses import replace
from importlib.metadata import entry_points
(tensorflow,) = entry_points(group="trainop.frameworks", name="tensorflow")
FRAMEWORK = replace(tensorflow.load(), **dict(dict(dialects=()), {changes}))
"""


class Install(Protocol):
    def __call__(self, name: str, code: str) -> None: ...


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """What `pip install` leaves behind, on the import path until the test ends. Use a name only once."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name: str, code: str) -> None:
        (tmp_path / f"{name}_module.py").write_text(code)
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{name} = {name}_module:FRAMEWORK\n")

    return install


def test_the_frameworks_of_this_repository_are_found_by_kind_and_by_name() -> None:
    kinds, names = registry.frameworks(), registry.by_name()
    ours = {"TFJob", "MXJob", "PyTorchJob", "XGBoostJob"}
    assert {GVK("kubeflow.org", "v1", kind) for kind in ours} <= kinds.keys()
    assert {"tensorflow", "mxnet", "pytorch", "xgboost"} <= names.keys()
    assert all(isinstance(framework, Framework) for framework in kinds.values())
    assert all(
        framework in (names[framework.name], *names[framework.name].dialects) for framework in kinds.values()
    )


def test_the_dialects_of_a_framework_are_kinds_of_their_own_under_its_name() -> None:
    older = {
        gvk: framework.name for gvk, framework in registry.frameworks().items() if gvk.group != "kubeflow.org"
    }
    assert older == {
        GVK("tensorflow.org", "v1alpha1", "TfJob"): "tensorflow",
        GVK("mlkube.io", "v1beta1", "TfJob"): "tensorflow",
        GVK("mlkube.io", "v1beta1", "MxJob"): "mxnet",
        GVK("mxnet.mlkube.io", "v1beta1", "MxJob"): "mxnet",
    }


def test_the_kind_of_a_dialect_is_taken_too(install: Install) -> None:
    install(
        "zsamedialect",
        LIKE_TENSORFLOW.format(
            changes="name='z', kind='ZJob', plural='zjobs', dialects=tensorflow.load().dialects"
        ),
    )
    with pytest.raises(BrokenFramework, match=r"kind tensorflow.org/v1alpha1 TfJob is taken by 'tensorflow'"):
        registry.frameworks()


def test_a_framework_that_somebody_installs_is_found(install: Install) -> None:
    install("fresh", LIKE_TENSORFLOW.format(changes="name='fresh', kind='FreshJob', plural='freshjobs'"))
    assert registry.by_name()["fresh"].gvk == GVK("kubeflow.org", "v1", "FreshJob")


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("unimportable", "import a_module_that_is_not_there", "ModuleNotFoundError: No module named"),
        ("raising", "1 / 0", "ZeroDivisionError: division by zero"),
        ("leaving", "import sys; sys.exit('enough')", "SystemExit: enough"),
        ("empty", "", "AttributeError: "),
        ("misnomer", "FRAMEWORK = 'a string'", "it is of type str, not a trainop.framework.Framework"),
        (
            "mistyped",
            LIKE_TENSORFLOW.format(changes="name='m', kind='MJob', plural='mjobs', port='7', roles=['A']"),
            "roles is ['A'], not tuple[Role, ...]; port is '7', not int",
        ),
        ("halfwritten", "def broken(:", "SyntaxError: invalid syntax ("),
    ],
)
def test_one_that_cannot_be_used_is_refused_with_its_name_its_file_and_the_reason(
    install: Install, tmp_path: Path, name: str, code: str, reason: str
) -> None:
    install(name, code)
    with pytest.raises(BrokenFramework) as refusal:
        registry.frameworks()
    source = f"'{name}' ({name}_module:FRAMEWORK, {tmp_path / name}_module.py, of {name} 1.2)"
    assert str(refusal.value).startswith(f"the framework {source} cannot be used: {reason}")


@pytest.mark.parametrize(
    ("name", "changes", "claim"),
    [
        ("zsamekind", "name='other'", "kind kubeflow.org/v1 TFJob"),
        (
            "zsameresource",
            "name='other', version='v2', older_versions=()",
            "resource tfjobs.kubeflow.org",
        ),
        ("zsamename", "kind='OtherJob', plural='otherjobs'", "name 'tensorflow'"),
    ],
)
def test_of_two_that_claim_the_same_both_are_named(
    install: Install, tmp_path: Path, name: str, changes: str, claim: str
) -> None:
    install(name, LIKE_TENSORFLOW.format(changes=changes))
    with pytest.raises(BrokenFramework) as refusal:
        registry.frameworks()
    source = f"'{name}' ({name}_module:FRAMEWORK, {tmp_path / name}_module.py, of {name} 1.2)"
    assert source in str(refusal.value)
    assert f"its {claim} is taken by 'tensorflow' (" in str(refusal.value)


def test_a_module_that_is_nowhere_has_no_file(install: Install, tmp_path: Path) -> None:
    install("nowhere", "")
    (tmp_path / "nowhere_module.py").unlink()
    with pytest.raises(BrokenFramework, match=r"\(nowhere_module:FRAMEWORK, no file, of nowhere 1\.2\)"):
        registry.frameworks()


def test_a_framework_that_claims_the_same_twice_is_refused(install: Install) -> None:
    changes = (
        "name='twice', kind='TwiceJob', plural='twicejobs', dialects=(tensorflow.load().dialects[0],) * 2"
    )
    install("tensortwice", LIKE_TENSORFLOW.format(changes=changes))
    (refusal,) = registry.found().broken
    assert "its kind tensorflow.org/v1alpha1 TfJob is taken by 'tensor" in str(refusal)


def test_those_that_can_be_used_are_found_beside_all_that_cannot(install: Install) -> None:
    install("brokenone", "1 / 0")
    install("brokentwo", "FRAMEWORK = 2")
    good, broken = registry.found()
    assert GVK("kubeflow.org", "v1", "TFJob") in good
    assert [str(each).split("'")[1] for each in broken] == ["brokenone", "brokentwo"]
    with pytest.raises(BrokenFramework, match=r"'brokenone'.*; the framework 'brokentwo'"):
        registry.frameworks()


def test_the_line_that_raises_is_told(install: Install, tmp_path: Path) -> None:
    install("deep", "from dataclasses import replace\n\nFRAMEWORK = replace(5)\n")
    with pytest.raises(BrokenFramework) as refusal:
        registry.frameworks()
    assert str(refusal.value).endswith(f" ({tmp_path}/deep_module.py, line 3)")


# --- as its functions are asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("render",), ("run", "--run-dir", "state")])
def test_a_command_in_which_it_raises_ends_with_one_line_about_it(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"raisingin{words[0]}"
    changes = f"name='{name}', kind='RaisingJob', plural='raisingjobs', bootstrap=lambda *job: 1 / 0"
    install(name, LIKE_TENSORFLOW.format(changes=changes))
    pod = {"containers": [{"name": "tensorflow", "image": "i", "command": ["true"]}]}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "RaisingJob",
        "metadata": {"name": "up"},
        "spec": {"tfReplicaSpecs": {"Worker": {"template": {"spec": pod}}}},
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    result = CliRunner().invoke(cli.main, [*words, "job.json"])
    assert result.exit_code == 2, result.output
    file, line = tmp_path / f"{name}_module.py", result.stderr.splitlines()[-1]
    assert line.startswith(
        f"trainop: the framework '{name}' ({name}_module:FRAMEWORK, {file}, of {name} 1.2) "
    )
    assert f" raised ZeroDivisionError: division by zero ({file}, line 5); " in line


def test_an_error_of_our_own_is_blamed_on_nobody() -> None:
    nothing: Any = None
    with pytest.raises(TypeError) as error:
        registry.called(nothing)
    assert registry.blamed(error.value) is None


# --- as the operator starts -------------------------------------------------------------------------------------


def operator(*words: str) -> Result:
    """It finds no cluster; what it says of frameworks, it says before that."""
    return CliRunner().invoke(cli.main, ["operator", "--kubeconfig", "/nowhere", *words])


def test_the_operator_does_not_start_with_a_broken_one_and_says_so_in_one_line(install: Install) -> None:
    install("brokenthree", "1 / 0")
    result = operator()
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "brokenthree_module.py, of brokenthree 1.2) cannot be used: ZeroDivisionError" in line
    assert line.endswith("or start without it: --skip-broken-frameworks")


def test_a_kind_that_only_a_broken_one_may_have_is_no_typo(install: Install) -> None:
    install("brokenfive", "1 / 0")
    result = operator(
        "--skip-broken-frameworks", "--enable-scheme=TFJob", "--enable-scheme=Concert.choir.org"
    )
    _, unserved, last = result.stderr.splitlines()
    assert unserved.endswith("no framework that can be used serves Concert.choir.org")
    assert last == "trainop: there is no kubeconfig /nowhere"
    result = operator("--skip-broken-frameworks", "--enable-scheme=Concert.choir.org")
    assert result.exit_code == 2
    assert "no installed framework serves Concert.choir.org" in result.stderr


def test_the_operator_serves_the_others_if_it_is_told_to(install: Install) -> None:
    install("brokenfour", "1 / 0")
    result = operator("--skip-broken-frameworks")
    first, last = result.stderr.splitlines()
    assert first.endswith("brokenfour_module.py, line 1); its jobs are not served")
    assert last == "trainop: there is no kubeconfig /nowhere"  # it got as far as to look for the cluster
