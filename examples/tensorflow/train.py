"""Trains a small network with parameter servers; every member runs this file, and TF_CONFIG tells it which one it is.

The chief decides what is computed, the workers compute it, the parameter servers hold the weights. A worker may be
killed at any time: its step is given to another, and it gets new ones when it is back. A chief without workers does
everything itself.
"""

import itertools
import os
import signal
import sys

import tensorflow as tf

STEPS = int(os.environ.get("STEPS", "2400"))
ROUND = 30  # steps between two lines of output
BATCH = 512
RATE = 0.02
WIDTHS = 8, 256, 256, 1
# For checkpoints and TensorBoard's scalars; every member must reach it. Without it nothing is kept.
MODEL_DIR = os.environ.get("MODEL_DIR", "")


class Network(tf.Module):
    """Guesses a number from eight others."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.weights = [
            tf.Variable(tf.random.normal([a, b], stddev=a**-0.5)) for a, b in itertools.pairwise(widths)
        ]
        self.biases = [tf.Variable(tf.zeros([b])) for b in widths[1:]]
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = tf.tanh(x @ weight + bias)
        return tf.squeeze(x @ last[0] + last[1], axis=1)

    def loss(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.square(self(x) - y))


def examples() -> tf.data.Dataset:
    """Made up as they are needed: each a point, and a wave's height there."""

    def example(_: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x = tf.random.uniform([BATCH, 8], -1, 1)
        return x, tf.sin(3 * x[:, 0]) + tf.cos(2 * x[:, 1]) * x[:, 2]

    return tf.data.Dataset.range(1).repeat().map(example).prefetch(2)


class Alone:
    """A coordinator of nobody: what is scheduled is done at once, here."""

    def create_per_worker_dataset(self, make):
        return make()

    def schedule(self, step, args):
        return step(*args)

    def join(self):
        pass

    def fetch(self, losses):
        return losses


def workforce(cluster: tf.distribute.cluster_resolver.ClusterResolver):
    """How weights are placed and steps are given out; returns when all workers and parameter servers have answered."""
    if "worker" not in cluster.cluster_spec().jobs:
        return tf.distribute.get_strategy(), Alone()
    strategy = tf.distribute.ParameterServerStrategy(cluster)
    devices = [tf.DeviceSpec.from_string(device.name) for device in tf.config.list_logical_devices("CPU")]
    print("joined:", ", ".join(sorted(f"{device.job} {device.task}" for device in devices)), flush=True)
    return strategy, tf.distribute.coordinator.ClusterCoordinator(strategy)


def lead(cluster: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """The chief: hands out steps until there are no more."""
    strategy, coordinator = workforce(cluster)
    with strategy.scope():
        network = Network(*WIDTHS)

    @tf.function
    def step(batches):
        x, y = next(batches)
        with tf.GradientTape() as tape:
            loss = network.loss(x, y)
        variables = network.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(RATE * gradient)
        network.steps.assign_add(1)
        return loss

    checkpoints = saved(network)
    batches = iter(coordinator.create_per_worker_dataset(examples))
    while (done := int(network.steps)) < STEPS:
        losses = [coordinator.schedule(step, args=(batches,)) for _ in range(min(ROUND, STEPS - done))]
        coordinator.join()
        report(int(network.steps), sum(coordinator.fetch(losses)) / len(losses))
        if checkpoints:
            checkpoints.save(network.steps)


def saved(network: Network) -> tf.train.CheckpointManager | None:
    """Where the training is saved, if anywhere; it goes on from there."""
    if not MODEL_DIR:
        return None
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(network=network), MODEL_DIR, max_to_keep=3)
    manager.restore_or_initialize()
    tf.summary.create_file_writer(MODEL_DIR).set_as_default()
    return manager


def report(step: int, loss: float) -> None:
    print(f"step {step:>5}/{STEPS}  loss {loss:.4f}", flush=True)
    if MODEL_DIR:
        tf.summary.scalar("loss", loss, step)


def evaluate() -> None:
    """The evaluator: tries every checkpoint on examples that nobody learns from, until the last."""
    network = Network(*WIDTHS)
    checkpoint = tf.train.Checkpoint(network=network)
    x, y = next(iter(examples()))
    print(f"evaluator waits for checkpoints in {MODEL_DIR}", flush=True)
    for path in tf.train.checkpoints_iterator(MODEL_DIR):
        checkpoint.restore(path)
        print(f"after step {int(network.steps):>5}  loss {network.loss(x, y):.4f}", flush=True)
        if network.steps >= STEPS:
            return


def serve(cluster: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """A worker or a parameter server: does as it is told, and never ends by itself."""
    os.environ["GRPC_FAIL_FAST"] = "use_caller"  # the chief hears at once of a member that is gone
    # Ends when it is told to, which the first process of a container does not do by itself.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = tf.distribute.Server(cluster.cluster_spec(), cluster.task_type, cluster.task_id, protocol="grpc")
    print(f"{cluster.task_type} {cluster.task_id} serves at {server.target}", flush=True)
    while True:
        signal.pause()


def told() -> tf.distribute.cluster_resolver.ClusterResolver:
    """What TF_CONFIG says, without the evaluator: it serves nobody, and the chief would wait for it to answer.

    The chief was called master once. Who is told nothing is alone, and the chief.
    """
    config = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    members = config.cluster_spec().as_dict()
    members.pop("evaluator", None)
    if "master" in members:
        members["chief"] = members.pop("master")
    task_type = "chief" if config.task_type in (None, "", "master") else config.task_type
    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(members), task_type=task_type, task_id=config.task_id or 0, rpc_layer="grpc"
    )


def main() -> None:
    cluster = told()
    if cluster.task_type == "chief":
        lead(cluster)
    elif cluster.task_type in ("worker", "ps"):
        serve(cluster)
    elif cluster.task_type == "evaluator" and MODEL_DIR:
        evaluate()
    else:
        sys.exit(f"there is no part for a member of type {cluster.task_type!r} in this training")


if __name__ == "__main__":
    main()
