"""Grows trees on all members at once; MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK tell each its part.

The master runs XGBoost's tracker, which brings the members together, and trains along with them: each on rows of its
own, and for every tree they add up what they have found. When one is lost, the others fail, and all begin again.
"""

import os
import socket
import time

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker

ROUNDS = int(os.environ.get("ROUNDS", "50"))
ROWS = 50_000  # of each member
PATIENCE = 300  # seconds that members wait for each other at the start
PARAMETERS = {
    "objective": "reg:squarederror",
    "tree_method": "hist",
    "max_depth": 6,
    "eta": 0.2,
    "nthread": 1,
}


class Report(xgb.callback.TrainingCallback):
    """A line for each tree."""

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: dict) -> bool:
        print(f"round {epoch + 1:>3}/{ROUNDS}  loss {evals_log['train']['rmse'][-1]:.4f}", flush=True)
        return False


def rows(rank: int) -> xgb.DMatrix:
    """Made up: points, and a wave's height at each."""
    x = np.random.default_rng(rank).uniform(-1, 1, (ROWS, 8))
    return xgb.DMatrix(x, np.sin(3 * x[:, 0]) + np.cos(2 * x[:, 1]) * x[:, 2])


def tracker_is_there(host: str, port: int) -> None:
    """The master may still be on its way, and its name with it. (The tracker warns of one who knocks and goes.)"""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.create_connection((host, port), timeout=5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def main() -> None:
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if rank == 0:
        tracker = RabitTracker(size, "0.0.0.0", port, sortby="task", timeout=PATIENCE)  # noqa: S104 - a pod's own
        tracker.start()
    else:
        tracker_is_there(host, port)
    who = {"dmlc_tracker_uri": host, "dmlc_tracker_port": port, "dmlc_task_id": f"{rank:06}"}
    with collective.CommunicatorContext(**who, dmlc_timeout=PATIENCE, dmlc_retry=30):
        data = rows(rank)
        model = xgb.train(
            PARAMETERS, data, ROUNDS, evals=[(data, "train")], verbose_eval=False, callbacks=[Report()]
        )
    if rank == 0:
        tracker.wait_for(PATIENCE)
        print(f"a model of {model.num_boosted_rounds()} trees", flush=True)


if __name__ == "__main__":
    main()
