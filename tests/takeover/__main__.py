"""`python -m tests.takeover`: have the old operator built before the tests ask for it."""

import sys

from tests.cluster import progress
from tests.cluster.build import Unavailable
from tests.takeover import old

try:
    old.fetch(progress.on_stderr())
except Unavailable as reason:
    sys.exit(str(reason))
