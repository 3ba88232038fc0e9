"""An operator that takes a stream for broken after three seconds of silence: tests do not wait for its usual 90."""

from __future__ import annotations

import asyncio
import sys

from trainop.operator import logs
from trainop.operator.app import Options, serve
from trainop.registry import frameworks

if __name__ == "__main__":
    logs.to_stderr("text", "info")
    here = "127.0.0.1:0"
    options = Options(namespaces=(sys.argv[-1],), metrics_address=here, probe_address=here, silence=3)
    asyncio.run(serve(frameworks(), options))
