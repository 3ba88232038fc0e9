"""What can be said of a job that is only a file: what is wrong with it, or that it was not submitted."""

from __future__ import annotations

from trainop.explain.evidence import Evidence
from trainop.explain.findings import Answer, Finding

STATE = "NotSubmitted"


def of_file(evidence: Evidence, path: str) -> Answer:
    problems = evidence.job.problems
    if problems:
        count = "is one mistake" if len(problems) == 1 else f"are {len(problems)} mistakes"
        message = f"{path} cannot be run: there {count} in it."
        check = ("mend the file, then check it again:", f"trainop validate {path}")
        return Answer(STATE, (Finding("InvalidSpec", message, tuple(map(str, problems)), check),))
    message = f"{path} is in order, and no cluster in reach has {evidence.job.name}: it was not submitted."
    return Answer(STATE, (Finding("NotSubmitted", message, (), (f"kubectl apply -f {path}",)),))
