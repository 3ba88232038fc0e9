"""`python -m tests.image`: have the image built before the tests ask for it."""

import os
import sys

from tests.cluster import progress
from tests.cluster.build import Unavailable
from tests.image import built

try:
    built.build(progress.on_stderr())
except Unavailable as reason:
    if os.environ.get("CI") == "true":
        sys.exit(str(reason))
    sys.stderr.write(f"NO IMAGE: its tests will not run. {reason}\n")
