"""What the digits examples share: the data, the network, a progress bar and the training loop.

The optimizer is what they differ in, so each example brings its own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import jax
import jax.numpy as jnp
from jax import lax

OUTPUT = Path(__file__).resolve().parent / "output"
CLASSES = 10
EPOCHS = 60
BATCH = 64
# Optimizer steps of a whole run, for schedules: four fifths of the 1797 digits, in complete batches.
STEPS = EPOCHS * (1437 // BATCH)


# --- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digits:
    """Handwritten digits, 8x8 pixels in [0, 1]; a fifth of them, equally many of each class, held out."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        images, labels = load_digits(return_X_y=True)
        images = (images / 16.0).astype(np.float32).reshape(-1, 8, 8, 1)
        split = train_test_split(
            images, labels.astype(np.int32), test_size=0.2, random_state=0, stratify=labels
        )
        train_images, test_images, train_labels, test_labels = split
        return cls(train_images, train_labels, test_images, test_labels)

    @property
    def batches_per_epoch(self) -> int:
        return len(self.train_images) // BATCH

    def batches(self, key: jax.Array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """One epoch in random order; the last incomplete batch is left out, so that one shape is compiled."""
        order = np.asarray(jax.random.permutation(key, len(self.train_images)))
        for start in range(0, self.batches_per_epoch * BATCH, BATCH):
            chosen = order[start : start + BATCH]
            yield self.train_images[chosen], self.train_labels[chosen]


# --- network --------------------------------------------------------------------------------------


def init_network(key: jax.Array) -> dict[str, dict[str, jax.Array]]:
    """Parameters: two convolutions and two dense layers, weights scaled for rectifiers (He)."""
    shapes = {
        "conv1": (3, 3, 1, 32),
        "conv2": (3, 3, 32, 64),
        "dense1": (2 * 2 * 64, 128),
        "dense2": (128, CLASSES),
    }
    parameters = {}
    for (name, shape), layer_key in zip(shapes.items(), jax.random.split(key, len(shapes)), strict=True):
        fan_in = int(np.prod(shape[:-1]))
        weights = jax.random.normal(layer_key, shape) * np.sqrt(2.0 / fan_in)
        parameters[name] = {"w": weights, "b": jnp.zeros(shape[-1])}
    return parameters


def _convolve(layer: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    dimensions = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME", dimension_numbers=dimensions)
    return jax.nn.relu(y + layer["b"])


def _halve(x: jax.Array) -> jax.Array:
    """2x2 max pooling."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def network(parameters, images: jax.Array, dropout_key: jax.Array | None = None) -> jax.Array:
    """Logits (batch, 10) of images (batch, 8, 8, 1); drops half of the hidden units when given a key."""
    x = _halve(_convolve(parameters["conv1"], images))
    x = _halve(_convolve(parameters["conv2"], x))
    x = x.reshape(x.shape[0], -1)
    x = jax.nn.relu(x @ parameters["dense1"]["w"] + parameters["dense1"]["b"])
    if dropout_key is not None:
        keep = jax.random.bernoulli(dropout_key, 0.5, x.shape)
        x = jnp.where(keep, x * 2.0, 0.0)
    return x @ parameters["dense2"]["w"] + parameters["dense2"]["b"]


def _shift(key: jax.Array, image: jax.Array) -> jax.Array:
    """Move an image by up to one pixel in each direction: a digit means the same wherever it stands."""
    start = jax.random.randint(key, (2,), 0, 3)
    padded = jnp.pad(image, ((1, 1), (1, 1), (0, 0)))
    return lax.dynamic_slice(padded, (start[0], start[1], 0), image.shape)


def loss(parameters, images: jax.Array, labels: jax.Array, key: jax.Array) -> jax.Array:
    """Mean cross entropy of a batch, its images moved and hidden units dropped at random."""
    shift_key, dropout_key = jax.random.split(key)
    images = jax.vmap(_shift)(jax.random.split(shift_key, len(images)), images)
    log_probabilities = jax.nn.log_softmax(network(parameters, images, dropout_key))
    return -jnp.mean(jnp.sum(log_probabilities * jax.nn.one_hot(labels, CLASSES), axis=-1))


@jax.jit
def accuracy(parameters, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Share of images whose largest logit is the right one."""
    return jnp.mean(jnp.argmax(network(parameters, images), axis=-1) == labels)


# --- training -------------------------------------------------------------------------------------


def progress(done: int, total: int, note: str) -> None:
    """Draw a bar on standard error; on something that is not a terminal, a line for every tenth."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        bar = "#" * filled + "." * (30 - filled)
        print(f"\r[{bar}] {done}/{total} {note}", end="", file=sys.stderr, flush=True)
        if done == total:
            print(file=sys.stderr)
    elif done % max(1, total // 10) == 0:
        print(f"{done}/{total} {note}", file=sys.stderr, flush=True)


@dataclass
class History:
    """One entry for each epoch."""

    loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)


Step = Callable[[Any, Any, jax.Array, jax.Array, jax.Array], tuple[Any, Any, jax.Array]]


def train(digits: Digits, parameters, optimizer_state, step: Step, key: jax.Array):
    """Run all epochs; ``step(parameters, state, images, labels, key) -> (parameters, state, loss)``."""
    history = History()
    for epoch in range(1, EPOCHS + 1):
        key, order_key, *step_keys = jax.random.split(key, 2 + digits.batches_per_epoch)
        losses = []
        for (images, labels), step_key in zip(digits.batches(order_key), step_keys, strict=True):
            parameters, optimizer_state, value = step(parameters, optimizer_state, images, labels, step_key)
            losses.append(value)
        history.loss.append(float(np.mean([float(value) for value in losses])))
        history.train_accuracy.append(float(accuracy(parameters, digits.train_images, digits.train_labels)))
        history.test_accuracy.append(float(accuracy(parameters, digits.test_images, digits.test_labels)))
        progress(epoch, EPOCHS, f"loss {history.loss[-1]:.4f} held out {history.test_accuracy[-1]:6.2%}")
    return parameters, history


def plot(history: History, path: Path) -> None:
    """Learning curves as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    epochs = np.arange(1, len(history.loss) + 1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), constrained_layout=True)
    left.plot(epochs, history.loss)
    left.set(xlabel="epoch", ylabel="training loss (cross entropy)", yscale="log")
    right.plot(epochs, history.train_accuracy, label="training")
    right.plot(epochs, history.test_accuracy, label="held out")
    right.set(xlabel="epoch", ylabel="accuracy", ylim=(0.9, 1.002))
    right.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def run(name: str, init_optimizer: Callable[[Any], Any], step: Step, seed: int = 0) -> float:
    """Train, plot, print; returns the accuracy on the held-out fifth."""
    start = time.perf_counter()
    digits = Digits.load()
    init_key, train_key = jax.random.split(jax.random.key(seed))
    parameters = init_network(init_key)
    parameters, history = train(digits, parameters, init_optimizer(parameters), step, train_key)
    picture = OUTPUT / f"{name}.png"
    plot(history, picture)
    seconds = time.perf_counter() - start
    count = len(digits.test_labels)
    final = history.test_accuracy[-1]
    print(f"held-out accuracy {final:.2%} ({count} digits), {seconds:.1f} s, jax {jax.__version__}")
    print(f"learning curves: {os.path.relpath(picture)}")
    return final
