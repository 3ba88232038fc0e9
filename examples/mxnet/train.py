"""Trains a small network through a parameter server; every member runs this file, and DMLC_* tells it its part.

The workers compute, the server adds up what they find in each step and holds the weights, the scheduler brings them
together. MXNet goes on only while all workers are there: none that joins later takes the place of one that is lost.
Who is told nothing is alone.
"""

import atexit
import os
import time

if os.environ.get("DMLC_ROLE") == "scheduler":
    atexit.register(
        time.sleep, 3
    )  # its end is the job's: first the workers, which are done, end by themselves

import mxnet as mx  # a scheduler and a server stay in this line until the workers are done, then they end
from mxnet import autograd, gluon, nd

EPOCHS = int(os.environ.get("EPOCHS", "20"))
BATCHES, BATCH = 40, 512  # of each worker, in each epoch


def batch():
    """Made up as it is needed: points, and a wave's height at each."""
    x = nd.random.uniform(-1, 1, shape=(BATCH, 8))
    return x, nd.sin(3 * x[:, 0]) + nd.cos(2 * x[:, 1]) * x[:, 2]


def network():
    """Guesses a number from eight others."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(256, "tanh"), gluon.nn.Dense(256, "tanh"), gluon.nn.Dense(1))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def main():
    store = mx.kvstore.create("dist_sync" if "DMLC_ROLE" in os.environ else "local")
    print(f"joined: worker {store.rank} of {store.num_workers}", flush=True)
    mx.random.seed(store.rank)  # each worker sees other points
    net, loss_of = network(), gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003}, kvstore=store)
    for epoch in range(1, EPOCHS + 1):
        total = 0.0
        for _ in range(BATCHES):
            x, y = batch()
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(BATCH * store.num_workers)
            total += float(loss.mean().asscalar())
        print(f"epoch {epoch:>3}/{EPOCHS}  loss {total / BATCHES:.4f}", flush=True)


if __name__ == "__main__":
    main()
