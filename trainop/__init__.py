"""One operator for distributed training jobs. The rooms of the house, and who may walk where:

    operator/     the process: watches wake keys, the queue hands them out      (shell)
    cli/          what people type                                              (shell)
    reconcile.py  one pass over one job: parse, observe, plan, act, report      (shell; read this first)
    local/        the node of `trainop run`: pods as processes of this machine  (shell)
    kube/         the only room that talks to Kubernetes                        (shell)
    check/        whether a framework keeps the contract                        (shell)
    doctor/       what is wrong with an installation                            (shell)
    files/        jobs in files: every mistake with the place where it stands    (shell)
    rundir.py     what a local run has left behind, to be asked about           (shell)
    registry.py   the installed frameworks, found by entry point                (shell)
    engine/       what should happen next: pure functions, one policy a file    (core)
    explain/      why a job is as it is: evidence in, findings out              (core)
    render.py     what the operator would make of a job                         (core)
    convert.py    jobs of dialects and older versions as v1                     (core)
    parse.py      what a user wrote, as a Job; every mistake with its path      (core)
    rules.py      what must hold between fields, in Python and in CEL at once   (core)
    template.py   looking into a user's pod template                            (core)
    crd.py        a framework as a CustomResourceDefinition                     (core)
    rights.py     what the operator must be allowed to do                       (core)
    starter.py    a framework to begin with                                     (core)
    podschema.py  the schema of a pod template, for crd.py                      (core)
    framework.py  the contract a framework folder fills in                      (contract)
    manner.py     the part of it for kinds that are read and told otherwise     (contract)
    records.py    whether a record has values of its types                      (data)
    model.py      the nouns: Job, Member, Topology, World, Action, Plan         (data)
    api/          the fields users write and read                               (data)
    errors.py     the error tree                                                (data)

Imports go from shell to core to contract to data, never back, and nobody imports a framework by
name. tests/test_architecture.py holds the walls up.
"""

__version__ = "0.1.0"
