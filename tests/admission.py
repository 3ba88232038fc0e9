"""A good job to spoil, and an API server to ask what it thinks of it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from trainop.framework import Framework

if TYPE_CHECKING:  # it takes most of a second to import
    from kubernetes.client import CoreV1Api

Tweak = tuple[str, Any]
"""A place in a job and what is written there; ROLES stands for the field of the framework."""
ABSENT = object()
WORKER = "spec/ROLES/Worker"
CONTAINER = f"{WORKER}/template/spec/containers/0"
NAME_OF_54, NAME_OF_55 = "a" * 54, "a" * 55  # with -worker-0 the one just fits

GOOD: dict[str, dict[str, Any]] = {
    "tensorflow": {"kind": "TFJob", "spec": {"tfReplicaSpecs": {"Chief": {}, "PS": {}, "Worker": {}}}},
    "mxnet": {
        "kind": "MXJob",
        "spec": {"jobMode": "MXTrain", "mxReplicaSpecs": {"Scheduler": {}, "Server": {}, "Worker": {}}},
    },
    "pytorch": {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {"Master": {}, "Worker": {}}}},
    "xgboost": {"kind": "XGBoostJob", "spec": {"xgbReplicaSpecs": {"Master": {}, "Worker": {}}}},
}


def job(framework: Framework[Any], *tweaks: Tweak) -> dict[str, Any]:
    """A good job of that framework, then tweaked."""
    made = deepcopy(GOOD[framework.name])
    made |= {"apiVersion": framework.gvk.api_version, "metadata": {"name": "mnist"}}
    most = {role.name: role.most or 2 for role in framework.roles}
    for name, role in made["spec"][framework.replicas_field].items():
        containers = [{"name": framework.container, "image": "train"}]
        role |= {"replicas": most[name], "template": {"spec": {"containers": containers}}}
    for place, value in sorted(tweaks, key=lambda tweak: -tweak[0].count("/")):
        _put(made, place.replace("ROLES", framework.replicas_field).split("/"), value)
    return made


def _put(into: Any, steps: list[str], value: Any) -> None:
    *above, last = steps
    for step in above:
        into = into[0] if step == "0" else into.setdefault(step, {})
    if value is ABSENT:
        into.pop(last, None)
    else:
        into[last] = deepcopy(value)


class Server:
    """Asks the API server what it thinks of a job, without leaving one there."""

    def __init__(self, core_api: CoreV1Api) -> None:
        from kubernetes.client import CustomObjectsApi

        self._api = CustomObjectsApi(core_api.api_client)

    def complaints(
        self, framework: Framework[Any], body: dict[str, Any], *, strict: bool = False
    ) -> list[str]:
        """`FIELD: MESSAGE` for each; none when it would be taken. `strict` as kubectl asks: mind unknown fields."""
        from kubernetes.client import ApiException

        try:
            self._api.create_namespaced_custom_object(
                *framework.gvk[:2],
                "default",
                framework.plural,
                body,
                dry_run="All",
                field_validation="Strict" if strict else "Ignore",
            )
        except ApiException as refusal:
            if refusal.status not in (400, 422):
                raise
            answer = json.loads(refusal.body or "")
            causes = (answer.get("details") or {}).get("causes") or [
                {"field": "", "message": answer["message"]}
            ]
            return [f"{cause['field']}: {cause['message']}" for cause in causes]
        return []
