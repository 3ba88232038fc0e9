"""Jobs that are wrong in one way each, and what is said about which field."""

from __future__ import annotations

from tests.admission import ABSENT, CONTAINER, NAME_OF_55, WORKER, Tweak

GANG = "spec/runPolicy/schedulingPolicy"
MX_ROLE = {"template": {"spec": {"containers": [{"name": "mxnet", "image": "i"}]}}}

# The rules of trainop/rules.py: how a job breaks each, and what is said about which field.
RULES: dict[str, tuple[str, list[Tweak], str, str]] = {
    "no container of the framework's name": (
        "tensorflow",
        [(f"{CONTAINER}/name", "trainer")],
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "tensorflow"',
    ),
    "no container of the framework's name in an MXJob": (
        "mxnet",
        [(f"{CONTAINER}/name", "trainer")],
        "spec.mxReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "mxnet"',
    ),
    "no containers": (
        "tensorflow",
        [(f"{WORKER}/template/spec/containers", [])],
        "spec.tfReplicaSpecs[Worker].template.spec.containers: Required value",
        'one container must be named "tensorflow"',
    ),
    "no image": (
        "tensorflow",
        [(f"{CONTAINER}/image", ABSENT)],
        "spec.tfReplicaSpecs[Worker].template.spec.containers[0].image: Required value",
        "an image is needed",
    ),
    "an unknown role": (
        "tensorflow",
        [("spec/ROLES/Wroker", {"template": {}})],
        "spec.tfReplicaSpecs: Forbidden",
        "the roles of a TFJob are Chief, Master, PS, Worker, Evaluator (in any letter case)",
    ),
    "two roles that differ only by case": (
        "tensorflow",
        [("spec/ROLES/worker", {"template": {}})],
        "spec.tfReplicaSpecs: Forbidden",
        "two roles have the same name in different letter case: keep one of them",
    ),
    "Chief and Master": (
        "tensorflow",
        [
            (
                "spec/ROLES/Master",
                {"template": {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}},
            )
        ],
        "spec.tfReplicaSpecs: Forbidden",
        "Chief and Master are two names of one role: keep one of them",
    ),
    "zero deciding replicas": (
        "tensorflow",
        [("spec/ROLES/Chief/replicas", 0)],
        "spec.tfReplicaSpecs: Required value",
        "the role that decides the outcome (Chief or Master, else Worker) needs at least one replica",
    ),
    "zero deciding replicas without a scheduler": (
        "mxnet",
        [("spec/ROLES/Scheduler", ABSENT), (f"{WORKER}/replicas", 0)],
        "spec.mxReplicaSpecs: Required value",
        "the role that decides the outcome (Tuner if jobMode is MXTune, else Scheduler, else Worker, else Tuner) "
        "needs at least one replica",
    ),
    "zero tuners in tune mode": (
        "mxnet",
        [("spec/jobMode", "MXTune"), ("spec/ROLES/tuner", MX_ROLE | {"replicas": 0})],
        "spec.mxReplicaSpecs: Required value",
        "the role that decides the outcome (Tuner if jobMode is MXTune, else Scheduler, else Worker, else Tuner) "
        "needs at least one replica",
    ),
    "no deciding role": (
        "tensorflow",
        [("spec/ROLES/Chief", ABSENT), (WORKER, ABSENT)],
        "spec.tfReplicaSpecs: Required value",
        "the role that decides the outcome (Chief or Master, else Worker) needs at least one replica",
    ),
    "two masters": (
        "pytorch",
        [("spec/ROLES/Master/replicas", 2)],
        "spec.pytorchReplicaSpecs: Forbidden",
        "a job has at most 1 Master",
    ),
    "no master where there must be one": (
        "xgboost",
        [("spec/ROLES/Master", ABSENT)],
        "spec.xgbReplicaSpecs: Required value",
        "the role that decides the outcome (Master) needs at least one replica",
    ),
    "an autoscaler": (
        "pytorch",
        [("spec/elasticPolicy", {"metrics": [{"type": "Resource"}]})],
        "spec.elasticPolicy.metrics: Forbidden",
        "no autoscaler is made: make a HorizontalPodAutoscaler for the job, which can be scaled",
    ),
    "a name too long": (
        "tensorflow",
        [("metadata/name", NAME_OF_55)],
        'metadata.name: Invalid value: "object"',
        "too long: NAME-role-index, the name of a pod and a service, may have 63 characters at most",
    ),
    "more members than a process can be told of": (
        "tensorflow",
        [(f"{WORKER}/replicas", 9_000)],
        "spec.tfReplicaSpecs: Forbidden",
        "TF_CONFIG, which lists all members, would have more than 131072 bytes: "
        "use fewer replicas, or set enableDynamicWorker",
    ),
    "a name that is no label": (
        "mxnet",
        [("metadata/name", "mn.ist")],
        'metadata.name: Invalid value: "object"',
        "must be a DNS label that starts with a letter: a-z, 0-9 and '-', such as mnist-1",
    ),
    "a name that a service may not have": (
        "tensorflow",
        [("metadata/name", "4mnist")],
        'metadata.name: Invalid value: "object"',
        "must be a DNS label that starts with a letter: a-z, 0-9 and '-', such as mnist-1",
    ),
    "a name that leaves no room for a TensorBoard's": (
        "tensorflow",
        [("metadata/name", "a" * 52), ("spec/tensorboard", {"logDir": "/logs"})],
        "spec.tensorboard: Forbidden",
        "with a TensorBoard the name of a job may have 51 characters at most",
    ),
}

# What the schema does not allow, and the API server's words for it.
SCHEMA: dict[str, tuple[str, Tweak, str, str]] = {
    "a word for a number": (
        "tensorflow",
        (f"{WORKER}/replicas", "two"),
        "spec.tfReplicaSpecs.Worker.replicas",
        "must be of type integer",
    ),
    "an unknown restartPolicy": (
        "tensorflow",
        (f"{WORKER}/restartPolicy", "Sometimes"),
        "spec.tfReplicaSpecs.Worker.restartPolicy",
        'supported values: "Always", "OnFailure", "Never", "ExitCode"',
    ),
    "an unknown cleanPodPolicy": (
        "tensorflow",
        ("spec/runPolicy/cleanPodPolicy", "Some"),
        "spec.runPolicy.cleanPodPolicy",
        'supported values: "None", "Running", "All"',
    ),
    "an unknown successPolicy": (
        "tensorflow",
        ("spec/successPolicy", "Some"),
        "spec.successPolicy",
        'supported values: "", "AllWorkers"',
    ),
    "an unknown manager": (
        "tensorflow",
        ("spec/runPolicy/managedBy", "me"),
        "spec.runPolicy.managedBy",
        'supported values: "", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"',
    ),
    "an unknown jobMode": (
        "mxnet",
        ("spec/jobMode", "Train"),
        "spec.jobMode",
        'supported values: "MXTrain", "MXTune"',
    ),
    "no jobMode": ("mxnet", ("spec/jobMode", ABSENT), "spec.jobMode", "Required value"),
    "no spec": ("tensorflow", ("spec", ABSENT), "spec", "Required value"),
    "no roles": ("tensorflow", ("spec/ROLES", ABSENT), "spec.tfReplicaSpecs", "Required value"),
    "an empty map of roles": (
        "tensorflow",
        ("spec/ROLES", {}),
        "spec.tfReplicaSpecs",
        "should have at least 1 properties",
    ),
    "a role that is null": (
        "tensorflow",
        ("spec/ROLES", {"Worker": None}),
        "spec.tfReplicaSpecs",
        "should have at least 1 properties",
    ),
    "no template": (
        "tensorflow",
        (f"{WORKER}/template", ABSENT),
        "spec.tfReplicaSpecs.Worker.template",
        "Required value",
    ),
    "a negative backoffLimit": (
        "tensorflow",
        ("spec/runPolicy/backoffLimit", -1),
        "spec.runPolicy.backoffLimit",
        "should be greater than or equal to 0",
    ),
    "a negative time to live, in the old place": (
        "mxnet",
        ("spec/ttlSecondsAfterFinished", -1),
        "spec.ttlSecondsAfterFinished",
        "should be greater than or equal to 0",
    ),
    "a negative number of replicas": (
        "mxnet",
        (f"{WORKER}/replicas", -1),
        "spec.mxReplicaSpecs.Worker.replicas",
        "should be greater than or equal to 0",
    ),
    "a negative minAvailable": (
        "tensorflow",
        (f"{GANG}/minAvailable", -1),
        "spec.runPolicy.schedulingPolicy.minAvailable",
        "should be greater than or equal to 0",
    ),
    "a deadline of zero": (
        "tensorflow",
        ("spec/runPolicy/activeDeadlineSeconds", 0),
        "spec.runPolicy.activeDeadlineSeconds",
        "should be greater than or equal to 1",
    ),
    "more replicas than anyone can mean": (
        "tensorflow",
        (f"{WORKER}/replicas", 10_001),
        "spec.tfReplicaSpecs.Worker.replicas",
        "should be less than or equal to 10000",
    ),
    "a TensorBoard without a log directory": (
        "tensorflow",
        ("spec/tensorboard", {"logDir": ""}),
        "spec.tensorboard.logDir",
        "should be at least 1 chars long",
    ),
    "an unknown type of a TensorBoard's service": (
        "tensorflow",
        ("spec/tensorboard", {"logDir": "/logs", "serviceType": "Public"}),
        "spec.tensorboard.serviceType",
        'supported values: "", "ClusterIP", "NodePort", "LoadBalancer"',
    ),
}
