"""What may be written at each place of a job, right and wrong, for comparing who refuses what."""

from __future__ import annotations

from typing import Any

from tests.admission import ABSENT, CONTAINER, NAME_OF_54, NAME_OF_55, WORKER
from tests.admission_cases import GANG, MX_ROLE

LIMITS = ("backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds")
TWEAKS: dict[str, list[Any]] = {
    "metadata/name": [
        "a",
        "mnist-1",
        "4mnist",
        "mnist-",
        "mn.ist",
        "MNIST",
        NAME_OF_54,
        NAME_OF_55,
        "a" * 64,
    ],
    "spec": [ABSENT, None, {}, [], "text"],
    "spec/ROLES": [ABSENT, None, {}, [], {"Worker": None}, {"Worker": {}}, {"Worker": []}],
    **{f"spec/ROLES/{role}": [ABSENT] for role in ("Chief", "Scheduler", "PS", "Worker")},
    **{f"spec/ROLES/{role}/replicas": [0] for role in ("Chief", "Scheduler", "PS", "Server")},
    **{
        f"spec/ROLES/{role}": [None, {}, {"template": None}, {"template": {"spec": {}}}]
        for role in ("worker", "WORKER", "Master", "Evaluator", "Wroker", "")
    },
    f"{WORKER}/replicas": [None, 0, 1, 10_000, 10_001, -1, "2", 1.0, 1.5, True, [], 2**40, 2**70],
    f"{WORKER}/restartPolicy": [None, "Always", "OnFailure", "Never", "ExitCode", "always", "", 1],
    f"{WORKER}/template": [ABSENT, None, {}, [], "text", {"spec": None}, {"spec": {}}],
    f"{WORKER}/template/metadata": [None, {}, [], {"labels": {"a": "b"}}, {"labels": []}],
    f"{WORKER}/template/spec/containers": [None, [], {}, "text", [{}], [{"image": "i"}], ["text"]],
    f"{CONTAINER}/name": [None, "trainer", "", 1],
    f"{CONTAINER}/image": [ABSENT, None, "", 1],
    f"{CONTAINER}/env": [None, [], {}, [{"name": "A"}], [{"value": "A"}]],
    f"{CONTAINER}/ports": [None, [], {}, [{"containerPort": 1}], [{"name": "a"}], [{"containerPort": "a"}]],
    "spec/runPolicy": [None, {}, [], "text"],
    **{
        f"spec/{place}{limit}": [None, -1, 0, 1, "1", 1.5, True, 2**40]
        for place in ("", "runPolicy/")
        for limit in LIMITS
    },
    **{
        f"spec/{place}cleanPodPolicy": [None, "All", "Running", "None", "", "all", False]
        for place in ("", "runPolicy/")
    },
    "spec/runPolicy/suspend": [None, True, False, "true", 1],
    "spec/runPolicy/managedBy": [None, "", "kueue.x-k8s.io/multikueue", "me", 1],
    GANG: [None, {}, [], "text"],
    **{f"{GANG}/{count}": [None, 0, -1, 2, "2"] for count in ("minAvailable", "scheduleTimeoutSeconds")},
    **{f"{GANG}/{word}": [None, "", "high", 1] for word in ("queue", "priorityClass")},
    f"{GANG}/minResources": [
        None,
        {},
        [],
        {"cpu": 1},
        {"cpu": "500m"},
        {"cpu": 1.5},
        {"cpu": None},
        {"cpu": True},
        {"cpu": "lots"},
    ],
    "spec/successPolicy": [None, "", "AllWorkers", "allworkers", 1],
    "spec/enableDynamicWorker": [None, True, False, "yes"],
    "spec/jobMode": [ABSENT, None, "MXTrain", "MXTune", "Train", ""],
    **{f"spec/ROLES/{role}": [MX_ROLE, MX_ROLE | {"replicas": 0}] for role in ("Tuner", "tuner")},
}

VALUES: list[Any] = ["x", 1, True, None, [], {}, ""]
PORTS: list[Any] = [80, "http", 1.5, True, []]
POD = f"{WORKER}/template/spec"
OF_TEMPLATES: dict[str, list[Any]] = {
    f"{CONTAINER}/resources": [
        {"limits": {"cpu": amount}} for amount in (1, "2", "500m", "lots", 1.5, True, None)
    ],
    f"{CONTAINER}/resource": [{}],
    f"{CONTAINER}/env": [[{"name": "A", "value": value}] for value in VALUES],
    f"{CONTAINER}/envs": [[{"name": "A"}]],
    f"{CONTAINER}/command": [["python"], "python", [1], [None], {}],
    f"{CONTAINER}/imagePullPolicy": ["Always", "always", 1],
    f"{CONTAINER}/volumeMounts": [[{"name": "a", "mountPath": "/a"}], [{"name": "a"}], [{"nmae": "a"}], "a"],
    f"{CONTAINER}/securityContext": [
        {"runAsUser": 1},
        {"runAsUser": "1"},
        {"runAsUsr": 1},
        {"privileged": "yes"},
    ],
    f"{CONTAINER}/livenessProbe": [{"httpGet": {"port": port}} for port in PORTS],
    f"{POD}/containers": [[{"name": "tensorflow", "image": "i"}, {"name": "tensorflow", "image": "i"}]],
    f"{POD}/restartPolicy": ["Never", 1, "Sometimes", None],
    f"{POD}/nodeSelector": [{"a": "b"}, {"a": 1}, {"a": None}, ["a"]],
    f"{POD}/tolerations": [
        [{"key": "a"}],
        [{"keys": "a"}],
        {"key": "a"},
        [None],
        [{"tolerationSeconds": "1"}],
    ],
    f"{POD}/volumes": [
        [{"name": "a", "emptyDir": {}}],
        [{"name": "a"}, {"name": "a"}],
        [{"emptyDir": {}}],
        [{"name": "a", "emptyDir": {"sizeLimit": "many"}}],
        [{"name": "a", "hostPath": {"pth": "/"}}],
    ],
    f"{POD}/terminationGracePeriodSeconds": [0, "30", -1, 1.5],
    f"{POD}/hostNetwork": [True, "true", 0],
    f"{POD}/priorityClass": ["high"],
    f"{WORKER}/template/metadata": [
        {"labels": {"a": 1}},
        {"annotations": {"a": "b"}},
        {"annotation": {"a": "b"}},
        {"creationTimestamp": None},
        {"uid": "1"},
    ],
    f"{WORKER}/template/spce": [{}],
}
"""Inside pod templates, which the operator looks into only as far as it needs to."""

OF_SPELLING: dict[str, list[Any]] = {
    f"{WORKER}/replica": [2, None],
    f"{WORKER}/label": ["key"],
    "spec/tfReplicaSpec": [{}, None],
    "spec/runPolcy": [{}],
    "spec/runPolicy": [{"backofLimit": 1}, {"schedulingPolicy": {"que": "a"}}],
    "spec/tensorboard": [
        {"logDir": "/logs"},
        {"logdir": "/logs"},
        {"logDir": "/logs", "volumes": [{"anything": 1}]},
        {"logDir": "/logs", "volumeMounts": "a"},
        {"logDir": 1},
    ],
    "specs": [{}, None, 1],
    "metadata/label": [{"a": "b"}],
    "metadata/labels": [{"a": "b"}, {"a": 1}, ["a"], {"a": None}],
    "metadata/annotations": [{"a": "b"}, {"a": True}],
    "metadata/generation": [1, "1"],
    "status": [{}, {"conditions": []}, {"condition": []}, {"startTime": "2024-01-01T00:00:00Z"}],
}
"""Fields that nobody knows, which the API server only minds when it is asked to be strict."""
