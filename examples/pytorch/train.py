"""Trains a small network on all members at once; MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK tell each its part.

In every step each member computes on points of its own, and gloo makes one gradient of what they find. When one is
lost, the others fail, all are started again, and go on together from the last checkpoint, if there is a place for one.
"""

import os
from datetime import timedelta
from pathlib import Path

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

EPOCHS = int(os.environ.get("EPOCHS", "20"))
BATCHES, BATCH = 40, 512  # of each member, in each epoch
# For checkpoints; every member must reach it. Without it nothing is kept.
MODEL_DIR = os.environ.get("MODEL_DIR", "")
CHECKPOINT = Path(MODEL_DIR, "checkpoint.pt")


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Made up as it is needed: points, and a wave's height at each."""
    x = torch.rand(BATCH, 8) * 2 - 1
    return x, torch.sin(3 * x[:, 0]) + torch.cos(2 * x[:, 1]) * x[:, 2]


def network() -> nn.Module:
    """Guesses a number from eight others."""
    return nn.Sequential(
        nn.Linear(8, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1), nn.Flatten(0)
    )


def train(rank: int) -> None:
    net, loss_of = network(), nn.MSELoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    done = restored(net, optimizer)
    together = DistributedDataParallel(net)
    for epoch in range(done + 1, EPOCHS + 1):
        torch.manual_seed(epoch * 1000 + rank)  # each member sees other points
        total = 0.0
        for _ in range(BATCHES):
            x, y = batch()
            optimizer.zero_grad()
            loss = loss_of(together(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch:>3}/{EPOCHS}  loss {total / BATCHES:.4f}", flush=True)
        if rank == 0:
            save(net, optimizer, epoch)


def save(net: nn.Module, optimizer: torch.optim.Optimizer, epoch: int) -> None:
    if MODEL_DIR:
        new = Path(MODEL_DIR, "new.pt")
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, new)
        new.replace(CHECKPOINT)  # all of it, or the one before


def restored(net: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """The last epoch that was saved."""
    if not (MODEL_DIR and CHECKPOINT.exists()):
        return 0
    found = torch.load(CHECKPOINT)
    net.load_state_dict(found["net"])
    optimizer.load_state_dict(found["optimizer"])
    return int(found["epoch"])


def main() -> None:
    torch.set_num_threads(1)  # the members may share a machine
    distributed.init_process_group("gloo", timeout=timedelta(minutes=5))
    train(distributed.get_rank())
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
