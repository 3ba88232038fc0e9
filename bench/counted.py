"""How many requests the API server has answered, by its own count: nobody's word about themselves is taken."""

from __future__ import annotations

import re
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.controlplane import Cluster

Requests = Counter[tuple[str, str]]
"""By verb and resource, such as PATCH and pods/status."""
LIFE = {("PATCH", "pods/status")}
"""What the pod life sends."""
_COUNTER = "apiserver_request_total"
_OURS = re.compile(r"(tfjobs|pods|services|events)(/.*)?")


def requests(cluster: Cluster) -> Requests:
    """On jobs and what belongs to them, by anyone; an open watch counts when it ends."""
    page = cluster.run("get", "--raw", "/metrics")
    lines = [line for line in page.splitlines() if line.startswith(_COUNTER)]
    found: Requests = Counter()
    for family in text_string_to_metric_families("\n".join([f"# TYPE {_COUNTER} counter", *lines, ""])):
        for sample in family.samples:
            told = sample.labels
            what = "/".join(filter(None, (told["resource"], told["subresource"])))
            if _OURS.fullmatch(what) and told["verb"] != "WATCH":
                found[told["verb"], what] += int(sample.value)
    return found


def by_the_operator(before: Requests, after: Requests, submitted: int) -> Requests:
    """What is left when the pod life's requests and our own submissions are taken away."""
    rest = after - before
    rest.subtract({("POST", "tfjobs"): submitted})
    return Counter({what: count for what, count in rest.items() if count and what not in LIFE})
