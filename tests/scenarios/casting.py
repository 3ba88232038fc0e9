"""Which job of each framework plays in the scenarios."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from trainop.framework import Framework
from trainop.registry import frameworks

THIRD_PARTY = Path(__file__).parents[1] / "thirdparty"
PARTS: dict[str, dict[str, Any]] = {
    "TFJob": {"replicas": {"Chief": 1, "PS": 1, "Worker": 2}, "decider": "Chief", "server": "PS"},
    "MXJob": {
        "replicas": {"Scheduler": 1, "Server": 1, "Worker": 2},
        "decider": "Scheduler",
        "server": "Server",
        "fields": {"jobMode": "MXTrain"},
    },
    "PyTorchJob": {"replicas": {"Master": 1, "Worker": 2}, "decider": "Master", "server": "Worker"},
    "XGBoostJob": {"replicas": {"Master": 1, "Worker": 2}, "decider": "Master", "server": "Worker"},
    "Concert": {"replicas": {"Conductor": 1, "Singer": 2}, "decider": "Singer", "server": "Conductor"},
}


@cache
def known_frameworks() -> dict[str, Framework[Any]]:
    """All frameworks by kind, also the one in tests/thirdparty: found by its entry point, like any. A dialect by
    KIND.GROUP."""
    sys.path.insert(0, str(THIRD_PARTY))
    try:
        found = frameworks()
        dialects = {dialect.gvk for framework in found.values() for dialect in framework.dialects}
        return {
            f"{gvk.kind}.{gvk.group}" if gvk in dialects else gvk.kind: framework
            for gvk, framework in found.items()
        }
    finally:
        sys.path.remove(str(THIRD_PARTY))
