"""Ensembles: many learners train a model each, and the job has succeeded when enough of them have."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from trainop.api.spec import JobSpec, ReplicaSpec
from trainop.framework import Bootstrap, Framework, Role, Rule
from trainop.model import Env, Failed, Job, Member, Succeeded, Tally, Topology, Undecided, Verdict


class EnsembleJobSpec(JobSpec):
    """The training of an ensemble of models."""

    quorum: int | None = Field(
        None, strict=True, ge=1, description="How many learners must succeed; default: more than half."
    )
    replica_specs: Mapping[str, ReplicaSpec] = Field(
        alias="ensembleReplicaSpecs", min_length=1, description="The role Learner, in any letter case."
    )


def bootstrap(job: Job[EnsembleJobSpec], topology: Topology) -> Bootstrap:
    """Each learner trains on its own part of the data, so it must know which part that is."""

    def env(me: Member) -> Env:
        return {"ENSEMBLE_LEARNER": str(me.index), "ENSEMBLE_LEARNERS": str(len(topology))}

    return env


def outcome(job: Job[EnsembleJobSpec], tally: Tally) -> Verdict:
    """A learner may fail as long as a quorum of the others can still be reached."""
    learners = tally.roles["Learner"]
    if len(learners.succeeded) >= _quorum(job):
        return Succeeded()
    if learners.replicas - len(learners.failed) < _quorum(job):
        return Failed("Learner", len(learners.failed))
    return Undecided()


def _quorum(job: Job[EnsembleJobSpec]) -> int:
    return job.spec.quorum or job.replicas["Learner"].replicas // 2 + 1


FRAMEWORK = Framework(
    name="ensemble",
    kind="EnsembleJob",
    plural="ensemblejobs",
    group="ensemble.example.com",
    version="v1alpha1",
    short_names=("ens",),
    spec=EnsembleJobSpec,
    roles=(Role("Learner", decides=1, served=False),),
    container="learner",
    port_name="unused-port",
    port=7000,
    bootstrap=bootstrap,
    outcome=outcome,
    rules=(
        Rule(
            cel="!has(self.spec.quorum) || self.spec.ensembleReplicaSpecs.all(role, self.spec.quorum <= "
            "(has(self.spec.ensembleReplicaSpecs[role].replicas) ? "
            "self.spec.ensembleReplicaSpecs[role].replicas : 1))",
            holds=lambda job: (
                job.spec.quorum is None
                or job.spec.quorum <= sum(replica.replicas for replica in job.replicas.values())
            ),
            field=".quorum",
            message="quorum must not be more than there are learners",
        ),
    ),
)
