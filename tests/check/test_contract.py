"""The contract: every framework keeps it, and each of its checks can fail."""

from __future__ import annotations

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, WithJsonSchema

from tests.cluster.controlplane import Cluster
from tests.scenarios.casting import known_frameworks
from trainop.api.spec import JobSpec, PodTemplate, ReplicaSpec
from trainop.check import cluster, contract
from trainop.check.contract import More, Result
from trainop.framework import Companion, Framework, Role, Rule, Wording, by_deciding_roles
from trainop.kube.credentials import load
from trainop.manner import Manner
from trainop.model import Failed, Job, Reading, Succeeded, Tally, Undecided, Verdict

pytestmark = pytest.mark.thorough

KNOWN = known_frameworks()
CONCERT = KNOWN["Concert"]
EXAMPLES = Path(__file__).parents[2] / "examples"
_numbers = itertools.count()


def run(framework: object, *examples: Path) -> list[Result]:
    return list(contract.run(lambda: framework, lambda: More(tuple(map(str, examples)))))


def failures(framework: object, *examples: Path) -> dict[str, Result]:
    return {result.check: result for result in run(framework, *examples) if not result.ok}


def every_check() -> set[str]:
    return {name for stage in contract.STAGES for name in stage}


@pytest.mark.parametrize("kind", KNOWN)
def test_every_framework_we_know_keeps_the_contract(kind: str) -> None:
    examples = [path for path in EXAMPLES.rglob("*job.yaml") if f"kind: {kind}" in path.read_text()]
    results = run(KNOWN[kind], *examples)
    assert [result for result in results if not result.ok] == []
    assert every_check() <= {result.check for result in results}


# --- one broken framework for each check --------------------------------------------------------------------


def spec_with(annotation: Any, **about: Any) -> type[JobSpec]:
    """A spec of a concert with one field more."""
    fields: dict[str, Any] = {
        "__annotations__": {"replica_specs": dict[str, ReplicaSpec], "encore": bool, "more": annotation},
        "__module__": __name__,
        "replica_specs": Field(alias="choir", min_length=1, description="The roles."),
        "encore": Field(False, description="Whether there is one."),
        "more": Field(**{"default": None, **about}),
    }
    return type("Spec", (JobSpec,), fields)


class Overweight(JobSpec):
    """One pod template after the other."""

    replica_specs: dict[str, ReplicaSpec] = Field(alias="choir", min_length=1, description="The roles.")
    first: PodTemplate | None = Field(None, description="One.")
    second: PodTemplate | None = Field(None, description="Two.")
    third: PodTemplate | None = Field(None, description="Three.")


def greedy(job: Job[Any], topology: Any) -> Any:
    job.replicas["Singer"].template["spec"]["containers"].append({"name": "more"})
    return lambda me: {}


def forgetful(job: Job[Any], tally: Tally) -> Verdict:
    return by_deciding_roles(job, tally) if next(_numbers) % 2 else Undecided()


def impatient(job: Job[Any], tally: Tally) -> Verdict:
    """Takes one that is to be tried again for one that has failed."""
    ended = [role for role, count in tally.roles.items() if not count.active and not count.succeeded]
    return Failed(ended[0], 1) if ended else by_deciding_roles(job, tally)


def hesitant(job: Job[Any], tally: Tally) -> Verdict:
    """Waits until all have fared alike."""
    for role, count in tally.roles.items():
        if len(count.failed) == count.replicas:
            return Failed(role, count.replicas)
    done = all(count.done for count in tally.roles.values())
    return Succeeded() if done else Undecided()


def broken(**changes: Any) -> Framework[Any]:
    return replace(CONCERT, **changes)


def a_rule(**changes: Any) -> Rule[Any]:
    fields = {
        "cel": "self.spec.encore",
        "holds": lambda job: True,
        "field": ".encore",
        "message": "no encore",
    }
    return Rule(**{**fields, **changes})


def a_role(decides: Any) -> Role:
    return Role("Singer", decides=decides)


def in_its_way(**ways: Any) -> Framework[Any]:
    """A concert that is written as it is understood, but for this."""
    plain = {"read": lambda raw: Reading(raw["spec"] or {}), "write": lambda spec: spec}
    return broken(manner=Manner(**plain | ways))


def scribbling(raw: dict[str, Any]) -> Reading:
    raw["spec"]["read"] = "yes"
    return Reading(raw["spec"])


BROKEN: dict[str, Framework[Any]] = {
    "every field is of its type": broken(spec=int),
    "names are what Kubernetes takes": broken(kind="concert"),
    "roles have names of their own": broken(roles=(Role("Singer", decides=1), Role("singer"))),
    "there is a role that decides": broken(roles=(Role("Singer"), Role("Conductor"))),
    "its sentences can be filled in": broken(wording=Wording(running="{nobody} sings")),
    "its kind is nobody else's": broken(kind="TFJob", plural="others", group="kubeflow.org"),
    "the CRD can be made": broken(spec=spec_with(int | list[str], description="Either.")),
    "the CRD is structural": broken(
        spec=spec_with(
            Annotated[str, WithJsonSchema({"type": "string", "oneOf": [{"pattern": "a"}]})],
            description="Odd.",
        )
    ),
    "the CRD is small enough": broken(spec=Overweight),
    "every field has a description": broken(spec=spec_with(bool)),
    "a job of its kind can be written": broken(rules=(a_rule(holds=lambda job: False),)),
    "every member has an environment": broken(bootstrap=lambda job, topology: {}),
    "reading changes nothing": in_its_way(read=scribbling),
    "jobs are read as they are written": in_its_way(
        write=lambda spec: {**spec, "encore": not spec.get("encore")}
    ),
    "whatever is written is read or refused": in_its_way(read=lambda raw: Reading(dict(raw["spec"]))),
    "what is written into a spec changes nothing else": in_its_way(stamp=lambda job: {"date": "today"}),
    "members have names of their own": in_its_way(child_name=lambda job, role, index: role.lower()),
    "the status is recalled as it is told": in_its_way(tell=lambda job, status: {"phase": "Running"}),
    "rules can be asked": broken(rules=(a_rule(holds=lambda job: "yes"),)),
    "companions have pods and services": broken(
        companions=(Companion[Any]("Organ", lambda job: {"spec": {}}, lambda job: {}),)
    ),
    "bootstrap changes nothing": broken(bootstrap=greedy),
    "defaults may be written, too": broken(
        spec=spec_with(Annotated[int, Field(ge=2)], default=1, description="Too small.")
    ),
    "any number of members is told": broken(
        bootstrap=lambda job, topology: lambda me: {"LED": topology.roles.get("Conductor", (me,))[0].name}
    ),
    "members are told text": broken(bootstrap=lambda job, topology: lambda me: {"INDEX": me.index}),
    "what members are told is short enough": broken(
        bootstrap=lambda job, topology: lambda me: {"ALL": "x" * 2_000 * len(topology)}
    ),
    "members are told the same every time": broken(
        bootstrap=lambda job, topology: lambda me: {"N": str(next(_numbers))}
    ),
    "the outcome depends on nothing else": broken(outcome=forgetful),
    "every outcome is a verdict": broken(outcome=lambda job, tally: Failed("Soloist", 1)),
    "success and failure can be reached": broken(outcome=lambda job, tally: Undecided()),
    "a job whose members end well succeeds": broken(outcome=lambda job, tally: Undecided()),
    "a job whose members fail has failed": broken(outcome=lambda job, tally: Undecided()),
    "a job whose members are tried again succeeds": broken(outcome=impatient),
    "a job whose members end each in its way ends": broken(outcome=hesitant),
}


def test_there_is_a_broken_framework_for_each_check() -> None:
    assert BROKEN.keys() == every_check()


@pytest.mark.parametrize("check", BROKEN)
def test_each_check_can_fail_and_says_what_to_do(check: str) -> None:
    found = failures(BROKEN[check])
    assert check in found
    assert found[check].message
    assert found[check].remedy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Choir"}, "name is 'Choir'"),
        ({"group": "music"}, "group is 'music'"),
        ({"version": "1"}, "version is '1'"),
        ({"plural": "Concerts"}, "plural is 'Concerts'"),
        ({"container": "Voice"}, "container is 'Voice'"),
        ({"port_name": "a-port-name-of-many-characters"}, "port_name is"),
        ({"port": 70_000}, "port is 70000"),
        ({"short_names": ("Con cert",)}, "the short name 'Con cert'"),
    ],
)
def test_a_name_that_kubernetes_would_not_take_is_named(changes: dict[str, Any], words: str) -> None:
    assert words in failures(broken(**changes))["names are what Kubernetes takes"].message


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (a_rule(field=".encores"), "points at '.encores'"),
        (a_rule(cel="true"), "is not complete"),
        (a_rule(message=""), "is not complete"),
    ],
)
def test_a_rule_that_is_half_a_rule_is_named(rule: Rule[Any], words: str) -> None:
    assert words in failures(broken(rules=(rule,)))["rules can be asked"].message


@pytest.mark.parametrize(
    ("roles", "check"),
    [
        ((), "roles have names of their own"),
        ((Role("Bass_Singer", decides=1),), "roles have names of their own"),
        ((Role("Singer", decides=1, most=0),), "roles have names of their own"),
        ((Role("Singer", decides=0), Role("Other", decides=1)), "there is a role that decides"),
        ((Role("Singer", decides=1, first_if=("nothing", "x")),), "there is a role that decides"),
    ],
)
def test_roles_that_cannot_be(roles: tuple[Role, ...], check: str) -> None:
    assert check in failures(broken(roles=roles))


def test_a_manner_that_nobody_can_write_is_told() -> None:
    found = failures(in_its_way(write=None))["a job of its kind can be written"]
    assert "does not say how to write them" in found.message


def test_a_dialect_is_held_to_the_same() -> None:
    odd = replace(in_its_way(child_name=lambda job, role, index: role.lower()), kind="Song", plural="songs")
    found = failures(broken(dialects=(odd,)))
    assert list(found) == ["its dialect song.music.example.com keeps the contract, too"]
    assert "members have names of their own: " in next(iter(found.values())).message


def test_a_job_that_would_never_end_is_told_with_who_ended_how() -> None:
    (only,) = failures(broken(outcome=hesitant)).values()
    assert only.message.startswith("2 Singer: they end with 0, 1 and so on, and the job is still running")


def test_an_example_must_run_here_and_succeed(tmp_path: Path) -> None:
    def ran(script: str) -> Result:
        pod = {"containers": [{"name": "voice", "image": "i", "command": ["python3", "-c", script]}]}
        concert = {
            "apiVersion": "music.example.com/v1alpha1",
            "kind": "Concert",
            "metadata": {"name": "short"},
            "spec": {"choir": {"Singer": {"replicas": 2, "template": {"spec": pod}}}},
        }
        (tmp_path / "job.yaml").write_text(json.dumps(concert))
        more = More(runs=(str(tmp_path / "job.yaml"),))
        return list(contract.run(lambda: CONCERT, lambda: more))[-1]

    assert ran("import os; print(os.environ['CHOIR'])").ok
    failed = ran("print(1 / 0)")
    assert failed.check.endswith("job.yaml runs here")
    assert "has failed because" in failed.message
    logs = Path(failed.remedy.removeprefix("read what its members said: "))
    assert "ZeroDivisionError" in "".join(log.read_text() for log in logs.rglob("*.log"))
    shutil.rmtree(logs.parent)


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"name": "voice", "image": "i"}, "has no command"),
        ({"name": "voise", "image": "i"}, "it cannot be run"),
    ],
)
def test_an_example_that_cannot_be_run_is_told(tmp_path: Path, container: dict[str, str], words: str) -> None:
    path = tmp_path / "job.yaml"
    concert = {
        "apiVersion": "music.example.com/v1alpha1",
        "kind": "Concert",
        "metadata": {"name": "short"},
        "spec": {"choir": {"Singer": {"template": {"spec": {"containers": [container]}}}}},
    }
    path.write_text(json.dumps(concert))
    last = list(contract.run(lambda: CONCERT, lambda: More(runs=(str(path),))))[-1]
    assert not last.ok
    assert words in last.message


@pytest.mark.cluster
def test_an_api_server_is_asked_whether_it_takes_the_crd(crds: Cluster) -> None:
    login = load(str(crds.kubeconfig))
    assert cluster.answering(lambda: login) == login

    def asked(framework: Framework[Any]) -> Result:
        return list(contract.run(lambda: framework, lambda: More(cluster=login)))[-1]

    good = asked(broken(kind="Recital", plural="recitals"))
    assert (good.check, good.ok) == ("an API server takes the CRD", True)
    assert asked(KNOWN["TFJob"]).ok  # which it has already
    refused = asked(broken(rules=(a_rule(cel="self.spec.nobody > 1"),)))
    assert "undefined field 'nobody'" in refused.message
    assert "recitals.music.example.com" not in crds.run("get", "crds", "-o", "name")


def test_a_cluster_that_does_not_answer_is_not_asked(tmp_path: Path) -> None:
    assert cluster.answering(lambda: load(str(tmp_path / "nowhere"))) is None


def test_what_raises_is_told_with_its_line_and_nothing_is_asked_of_it_after_that() -> None:
    def untidy(job: Job[Any], topology: Any) -> Any:
        return lambda me: {"RANK": str(nobody)}  # type: ignore[name-defined]  # noqa: F821 - what is looked for

    results = list(contract.run(lambda: broken(bootstrap=untidy), home=Path(__file__)))
    assert all(result.ok for result in results[:-1])
    assert results[-1].check == "every member has an environment"
    assert results[-1].message == (
        f"NameError: name 'nobody' is not defined ({__file__}, line {untidy.__code__.co_firstlineno + 1})"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"port": "7000"}, "port is '7000', not int"),
        ({"short_names": "con"}, "short_names is 'con', not tuple[str, ...]"),
        ({"roles": Role("Singer", decides=1)}, "not tuple[Role, ...]"),
        ({"roles": (a_role("1"),)}, "roles[0].decides is '1', not int | None"),
        ({"bootstrap": None}, "bootstrap is None, not Callable[[Job[JobSpec], Topology], Bootstrap]"),
        ({"rules": ("self.spec",)}, "rules is ('self.spec',), not tuple[Rule[JobSpec], ...]"),
        ({"one_machine": None}, "one_machine is None, not Env"),
        ({"dialects": (broken(port=None),)}, "dialects[0].port is None, not int"),
    ],
)
def test_a_field_of_another_type_is_named(changes: dict[str, Any], words: str) -> None:
    (only,) = failures(broken(**changes)).values()
    assert only.check == "every field is of its type"
    assert words in only.message


@pytest.mark.parametrize(
    ("bootstrap", "words"),
    [
        (lambda job, topology: None, "bootstrap gives None"),
        (lambda job, topology: lambda me: None, "sample-singer-0 is told None"),
    ],
)
def test_a_bootstrap_that_gives_nothing_is_told(bootstrap: Any, words: str) -> None:
    assert words in failures(broken(bootstrap=bootstrap))["every member has an environment"].message


def raising() -> object:
    raise ZeroDivisionError("no")


def test_what_raises_when_it_is_imported_is_told() -> None:
    (only,) = contract.run(raising)
    assert (only.check, only.ok, only.message) == ("it can be imported", False, "ZeroDivisionError: no")


def test_what_is_no_framework_is_told() -> None:
    assert failures("text")["it is a framework"].message == "it is of type str"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: ConfigMap\napiVersion: v1\n", "there is no Concert in it"),
        (
            "kind: Concert\napiVersion: music.example.com/v1alpha1\nspec: {chior: {}}\n",
            "chior: unknown field",
        ),
    ],
)
def test_an_example_that_is_wrong_is_told(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(text)
    assert words in failures(CONCERT, path)[f"{path} has no mistakes"].message
