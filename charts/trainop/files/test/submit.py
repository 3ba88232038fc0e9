"""`helm test`: submits the job of a file, waits for its success and takes it away again, whatever comes of it.

python submit.py JOB.json SECONDS
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from trainop.errors import Exists, Gone, TrainopError
from trainop.kube.client import Client
from trainop.kube.credentials import load
from trainop.kube.port import Resource

Job = dict[str, Any]


async def main(wanted: Job, patience: float) -> str:
    """What went wrong, in words; nothing if all went well."""
    group, version = wanted["apiVersion"].split("/")
    jobs = Resource(group, version, wanted["kind"].lower() + "s")
    name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
    async with Client(load()) as api:
        began = time.monotonic()
        job = await submit(api, jobs, namespace, wanted)
        print(f"{wanted['kind']} {namespace}/{name} is submitted")  # noqa: T201 - helm shows it
        try:
            state = ""
            while time.monotonic() < began + patience:
                job = await api.get(jobs, namespace, name, dict)
                if state != (state := state_of(job)):
                    print(f"{time.monotonic() - began:5.1f} s  {state}")  # noqa: T201 - helm shows it
                if state.startswith("Succeeded"):
                    return ""
                if state.startswith("Failed"):
                    return f"the job has failed: {state}"
                await asyncio.sleep(0.5)
            return f"the job has not succeeded in {patience:g} s: {state or 'no operator has looked at it'}"
        finally:
            await api.delete(jobs, namespace, name, job["metadata"]["uid"])


async def submit(api: Client, jobs: Resource, namespace: str, wanted: Job) -> Job:
    """In the place of one that a run before, killed in the middle, has left."""
    try:
        return await api.create(jobs, namespace, wanted, dict)
    except Exists:
        old = await api.get(jobs, namespace, wanted["metadata"]["name"], dict)
        with contextlib.suppress(Gone):
            await api.delete(jobs, namespace, old["metadata"]["name"], old["metadata"]["uid"])
        return await api.create(jobs, namespace, wanted, dict)


def state_of(job: Job) -> str:
    """The newest condition that holds, with its message."""
    holding = [it for it in job.get("status", {}).get("conditions", ()) if it["status"] == "True"]
    return f"{holding[-1]['type']}: {holding[-1].get('message', '')}" if holding else ""


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(json.loads(Path(sys.argv[1]).read_text()), float(sys.argv[2]))) or None)
    except TrainopError as error:
        sys.exit(str(error))
