"""Frameworks are found when they are installed; one that cannot be used is named, with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from trainop import registry
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
        ("empty", "", "AttributeError: "),
        ("misnomer", "FRAMEWORK = 'a string'", "it is of type str, not a trainop.framework.Framework"),
    ],
)
def test_one_that_cannot_be_used_is_refused_with_its_name_and_the_reason(
    install: Install, name: str, code: str, reason: str
) -> None:
    install(name, code)
    with pytest.raises(BrokenFramework) as refusal:
        registry.frameworks()
    source = f"'{name}' ({name}_module:FRAMEWORK, of {name} 1.2)"
    assert str(refusal.value).startswith(f"the framework {source} cannot be used: {reason}")


@pytest.mark.parametrize(
    ("name", "changes", "claim"),
    [
        ("zsamekind", "name='other'", "kind kubeflow.org/v1 TFJob"),
        ("zsamename", "kind='OtherJob', plural='otherjobs'", "name 'tensorflow'"),
    ],
)
def test_of_two_that_claim_the_same_both_are_named(
    install: Install, name: str, changes: str, claim: str
) -> None:
    install(name, LIKE_TENSORFLOW.format(changes=changes))
    with pytest.raises(BrokenFramework) as refusal:
        registry.frameworks()
    assert f"'{name}' ({name}_module:FRAMEWORK, of {name} 1.2)" in str(refusal.value)
    assert f"its {claim} is taken by 'tensorflow' (" in str(refusal.value)
