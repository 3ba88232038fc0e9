"""`python -m tests.examples`: have the examples' environments made before the tests ask for them."""

import os
import sys

from tests.cluster import progress
from tests.cluster.build import Unavailable
from tools.environments import EXAMPLES, environment

for example in EXAMPLES:
    try:
        environment(example, progress.on_stderr())
    except Unavailable as reason:
        if os.environ.get("CI") == "true":
            sys.exit(str(reason))
        sys.stderr.write(f"NO {example.title.upper()}: its trainings will not run. {reason}\n")
