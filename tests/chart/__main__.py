"""`python -m tests.chart`: have helm and the parser of queries built before the tests ask for them."""

import sys

from tests.chart import programs
from tests.cluster import progress
from tests.cluster.build import Unavailable

try:
    for fetch in (programs.helm, programs.promql):
        fetch(progress.on_stderr())
except Unavailable as reason:
    sys.exit(str(reason))
