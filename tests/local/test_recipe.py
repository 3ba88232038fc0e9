"""What is started for a container."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from trainop.kube.port import Raw
from trainop.local.mounts import Mounts
from trainop.local.options import EVERY_IMAGE, Options
from trainop.local.recipe import Recipe, recipe

POD: Raw = {
    "metadata": {"name": "job-worker-0", "namespace": "team", "uid": "u", "labels": {"a/b": "c"}},
    "spec": {},
}


def made(options: Options | None = None, **container: Any) -> Recipe:
    wanted = options or Options()
    whole = {"name": "tensorflow", "image": "tf:2", "command": ["true"], **container}
    return recipe(POD, whole, wanted, wanted.mounts, {"PATH": "/usr/bin:/bin", "HOME": "/root"})


def field(name: str, path: str) -> Raw:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_command_and_args_are_one_list_of_words() -> None:
    assert made(command=["echo", "a"], args=["b c"]).argv == ("echo", "a", "b c")


def test_words_and_values_name_the_variables_of_the_container_only() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}, {"name": "NONE"}]
    found = made(command=["echo", "$(B)", "$(HOME)", "$(NONE)."], env=env)
    assert found.argv == ("echo", "12", "$(HOME)", ".")
    assert (found.env["B"], found.env["HOME"]) == ("12", "/root")


def test_the_users_option_wins_over_the_job_and_the_job_over_this_machine() -> None:
    options = Options(env={"A": "option"})
    found = made(options, env=[{"name": "A", "value": "job"}, {"name": "HOME", "value": "/h"}])
    assert (found.env["A"], found.env["HOME"]) == ("option", "/h")


def test_fields_of_the_pod_are_answered_and_what_is_kept_in_a_cluster_is_not_set() -> None:
    env = [
        field("NAME", "metadata.name"),
        field("NAMESPACE", "metadata.namespace"),
        field("IP", "status.podIP"),
        field("LABEL", "metadata.labels['a/b']"),
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    found = made(env=env).env
    assert [found[name] for name in ("NAME", "NAMESPACE", "IP", "LABEL")] == [
        "job-worker-0",
        "team",
        "127.0.0.1",
        "c",
    ]
    assert "KEY" not in found
    assert made(Options(env={"KEY": "v"}), env=env).env["KEY"] == "v"


def test_paths_below_a_mount_are_translated_in_words_values_and_folder(tmp_path: Path) -> None:
    options = Options(mounts=Mounts({"/app": tmp_path}))
    found = made(
        options,
        command=["cat", "/app/x", "$(P)/y"],
        workingDir="/app/src",
        env=[{"name": "P", "value": "/app"}],
    )
    assert found.argv == ("cat", f"{tmp_path}/x", f"{tmp_path}/y")
    assert (found.env["P"], found.folder) == (str(tmp_path), f"{tmp_path}/src")


def test_without_a_working_directory_it_is_the_users() -> None:
    assert made().folder == str(Path.cwd())


@pytest.mark.parametrize("word", ["python", "python3", "python3.11", "/usr/local/bin/python"])
def test_the_interpreter_of_an_image_is_replaced_by_the_one_that_was_named(word: str) -> None:
    options = Options(pythons={"tf:2": Path("/venv/bin/python"), EVERY_IMAGE: Path("/all/bin/python")})
    found = made(options, command=[word, "-m", "train"])
    assert found.argv == ("/venv/bin/python", "-m", "train")
    assert found.env["PATH"].split(os.pathsep)[0] == "/venv/bin"
    assert made(options, image="other", command=[word]).argv == ("/all/bin/python",)


def test_without_one_python_is_the_one_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to("/bin/sh")
    path = [{"name": "PATH", "value": str(tmp_path)}]
    assert made(command=["python3"], env=path).argv == ("python3",)
    assert made(command=["python"], env=path).argv == ("python3",)
    (tmp_path / "python").symlink_to("/bin/sh")
    assert made(command=["python"], env=path).argv == ("python",)


def test_other_programs_stay_as_they_are_written() -> None:
    options = Options(pythons={EVERY_IMAGE: Path("/venv/bin/python")})
    assert made(options, command=["python-config", "python"]).argv == ("python-config", "python")
