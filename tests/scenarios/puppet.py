"""A member that does nothing but end as it is told: run as a script, with the folder where its orders are left."""

import os
import signal
import sys
import time
from pathlib import Path


def _end(code: int) -> None:
    """As a signal ends a process, where the code says so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if code - 128 in {number.value for number in signal.Signals}:
        os.kill(os.getpid(), code - 128)
    sys.exit(code)


if __name__ == "__main__":
    order = Path(sys.argv[1]) / str(os.getpid())
    while not order.exists():
        time.sleep(0.02)
    _end(int(order.read_text()))
