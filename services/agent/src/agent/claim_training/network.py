"""The network in TensorFlow, as it learns: the encoder's layers, the head beside the ideas, and one step of descent.

Needs `tensorflow-cpu`, which the services don't; `packing` writes what comes out for `adapters/claim_encoder`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]
from numpy.typing import NDArray

from agent.adapters.claim_encoder import HEADS
from agent.adapters.claim_network import GROUP_OF, GROUPS, IDEA_WEIGHT, LANGUAGES, VECTOR_WEIGHT
from agent.adapters.opinions import IDEA_COUNT

Floats = NDArray[np.float32]
Tensor = Any
_HIDDEN = 256
_DROP, _HEAD_DROP = 0.1, 0.2
# The rules were tuned on most of these sentences and look surer here than on a stranger's: some ideas are hidden.
_IDEA_HIDDEN, _IDEAS_HIDDEN = 0.25, 0.2
# A verdict is the aim; which kinds a row names is a help, and that a kind is not named a smaller one.
_PRESENT, _ABSENT = 0.5, 0.3
_HEAD_PACE = 8.0
_DECAY = 0.01
_FIRST_MOMENT, _SECOND_MOMENT = 0.9, 0.98
_SPEAKS = ("refund", "cancel", "address_change", "return_label", "account_change", "handoff", "order_status")


@dataclass(frozen=True)
class Batch:
    """Segments (padded pieces, 1 where there is one, ideas, language), and the cases and labels that point at them."""

    pieces: NDArray[np.int32]
    shown: Floats
    ideas: Floats
    languages: Floats
    segment_of: NDArray[np.int32]
    case_of: NDArray[np.int32]
    truths: Floats
    silences: Floats
    holds: Floats
    weights: Floats
    absent: Floats
    present: Floats
    labels: NDArray[np.int32]
    label_trust: Floats
    silence_trust: Floats


class Network:
    """Weights and their moments; `learn` moves them, `scores` reads."""

    def __init__(self, start: Mapping[str, Floats], words: Floats, layers: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        tf.random.set_seed(seed)
        self._layers = layers
        self._words = tf.constant(words)
        self._positions = tf.constant(start["positions"])
        self._encoder = {name: tf.Variable(values) for name, values in start.items() if name != "positions"}
        wide = 2 * words.shape[1] + IDEA_COUNT + len(LANGUAGES)
        outputs = len(GROUP_OF)
        self._head = {
            "hidden": tf.Variable(_random(random, wide, _HIDDEN, wide**-0.5)),
            "hidden_bias": tf.Variable(np.zeros(_HIDDEN, np.float32)),
            "out": tf.Variable(_random(random, _HIDDEN, outputs, 0.5 * _HIDDEN**-0.5)),
            # most sentences say nothing of most kinds
            "out_bias": tf.Variable(np.full(outputs, -3.0, np.float32)),
            "past": tf.Variable(_random(random, wide, outputs, 0.02)),
        }
        self._all = [*self._encoder.values(), *self._head.values()]
        self._moments = [(tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))) for v in self._all]
        self._steps = tf.Variable(0.0)
        self._of_group = tf.constant(np.eye(len(GROUPS), dtype=np.float32)[GROUP_OF])
        self._speaks_of = tf.constant(_speaks_of())
        loose = {name: tf.TensorSpec([None] * count, kind) for name, (count, kind) in _SHAPES.items()}
        self._learn = tf.function(self._descend, input_signature=[loose, tf.TensorSpec([], tf.float32)])

    def learn(self, batch: Batch, pace: float) -> float:
        """One step; returns the loss an example."""
        return float(self._learn({name: getattr(batch, name) for name in _SHAPES}, np.float32(pace)))

    def encoder(self) -> dict[str, Floats]:
        """As `packing.save_encoder` takes it, positions included."""
        return {"positions": self._positions.numpy()} | {name: v.numpy() for name, v in self._encoder.items()}

    def head(self) -> dict[str, Floats]:
        """As `packing.save_head` takes it."""
        return {name: v.numpy() for name, v in self._head.items()}

    def _descend(self, batch: dict[str, Tensor], pace: Tensor) -> Tensor:
        with tf.GradientTape() as tape:
            loss = self._loss(batch)
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, self._all), 1.0)
        self._steps.assign_add(1.0)
        first, second = 1 - _FIRST_MOMENT**self._steps, 1 - _SECOND_MOMENT**self._steps
        for at, (variable, (mean, square), gradient) in enumerate(
            zip(self._all, self._moments, gradients, strict=True)
        ):
            mean.assign(_FIRST_MOMENT * mean + (1 - _FIRST_MOMENT) * gradient)
            square.assign(_SECOND_MOMENT * square + (1 - _SECOND_MOMENT) * gradient * gradient)
            step = mean / first / (tf.sqrt(square / second) + 1e-6)
            shrink = _DECAY * variable if len(variable.shape) > 1 else 0.0
            here = pace if at < len(self._encoder) else pace * _HEAD_PACE
            variable.assign_sub(here * (step + shrink))
        return loss

    def _loss(self, batch: dict[str, Tensor]) -> Tensor:
        """How badly verdicts, kinds and labels are explained, a reply.

        A reply holds when every kind each segment may speak of is borne out; readings are never labelled there, only
        what they would come to beside the facts.
        """
        powers = tf.exp(tf.clip_by_value(self._forward(batch, learning=True), -20.0, 20.0))
        sums = 1 + tf.matmul(powers, self._of_group)
        shares, silent = powers / tf.gather(sums, GROUP_OF, axis=1), 1 / sums
        count = tf.shape(batch["holds"])[0]
        here, quiet = tf.gather(shares, batch["segment_of"]), tf.gather(silent, batch["segment_of"])
        borne_out = quiet + tf.matmul(here * batch["truths"], self._of_group)
        log_holds = tf.reduce_sum(tf.math.log(borne_out + 1e-6), 1)
        all_quiet = tf.exp(tf.reduce_sum(tf.math.log(quiet + 1e-9), 1))
        log_holds += (1 - batch["silences"]) * tf.math.log(1 - all_quiet + 1e-3)
        holds = 0.98 * tf.exp(tf.math.unsorted_segment_sum(log_holds, batch["case_of"], count)) + 0.01
        verdict = batch["holds"] * tf.math.log(holds) + (1 - batch["holds"]) * tf.math.log(1 - holds)
        log_quiet = tf.math.unsorted_segment_sum(tf.math.log(quiet + 1e-9), batch["case_of"], count)
        unspoken = tf.exp(tf.matmul(log_quiet, self._speaks_of, transpose_b=True))
        kinds = _ABSENT * tf.reduce_sum(batch["absent"] * log_quiet, 1)
        kinds += _PRESENT * tf.reduce_sum(batch["present"] * tf.math.log(1 - 0.99 * unspoken), 1)
        labels = tf.reduce_sum(batch["label_trust"] * tf.math.log(tf.gather_nd(shares, batch["labels"]) + 1e-6))
        labels += tf.reduce_sum(batch["silence_trust"] * tf.math.log(silent + 1e-6))
        return -(tf.reduce_sum(batch["weights"] * (verdict + kinds)) + labels) / tf.cast(
            tf.reduce_max(batch["segment_of"]) + 1, tf.float32
        )

    def _forward(self, batch: dict[str, Tensor], *, learning: bool) -> Tensor:
        def dropped(values: Tensor, rate: float) -> Tensor:
            return tf.nn.dropout(values, rate) if learning else values

        pieces, shown = batch["pieces"], batch["shown"]
        state = tf.gather(self._words, pieces) + self._positions[: tf.shape(pieces)[1]]
        state = dropped(self._normed(state, "words.norm"), _DROP)
        hidden = (1 - shown)[:, None, None, :] * -1e9
        for layer in range(self._layers):
            state = self._step(state, hidden, f"l{layer}.", dropped)
        mask = shown[:, :, None]
        mean = tf.reduce_sum(state * mask, 1) / tf.reduce_sum(mask, 1)
        vector = tf.concat([mean, tf.reduce_max(state + (mask - 1) * 1e4, 1)], 1)
        ideas = batch["ideas"]
        if learning:
            shape = tf.shape(ideas)
            ideas *= tf.cast(tf.random.uniform(shape) > _IDEA_HIDDEN, tf.float32)
            ideas *= tf.cast(tf.random.uniform((shape[0], 1)) > _IDEAS_HIDDEN, tf.float32)
        seen = [dropped(vector, _DROP) * VECTOR_WEIGHT, ideas * IDEA_WEIGHT, batch["languages"]]
        seen = tf.concat(seen, 1)
        inner = tf.nn.gelu(tf.matmul(seen, self._head["hidden"]) + self._head["hidden_bias"], approximate=True)
        inner = dropped(inner, _HEAD_DROP)
        return tf.matmul(inner, self._head["out"]) + tf.matmul(seen, self._head["past"]) + self._head["out_bias"]

    def _step(self, state: Tensor, hidden: Tensor, at: str, dropped: Any) -> Tensor:
        rows, pieces, width = tf.shape(state)[0], tf.shape(state)[1], state.shape[-1]

        def heads(name: str) -> Tensor:
            split = tf.reshape(self._linear(state, at + name), (rows, pieces, HEADS, width // HEADS))
            return tf.transpose(split, (0, 2, 1, 3))

        scores = tf.matmul(heads("q"), heads("k"), transpose_b=True) * (width / HEADS) ** -0.5 + hidden
        looked = tf.matmul(dropped(tf.nn.softmax(scores), _DROP), heads("v"))
        looked = tf.reshape(tf.transpose(looked, (0, 2, 1, 3)), (rows, pieces, width))
        state = self._normed(state + dropped(self._linear(looked, at + "ao"), _DROP), at + "aln")
        inner = tf.nn.gelu(self._linear(state, at + "fi"), approximate=True)
        return self._normed(state + dropped(self._linear(inner, at + "fo"), _DROP), at + "oln")

    def _linear(self, values: Tensor, name: str) -> Tensor:
        # half the bits for three times the speed; sums and weights keep all of theirs. Flat, since the descent
        # through a product of three and two dimensions takes four times as long
        weights = self._encoder[f"{name}.w"]
        flat = tf.cast(tf.reshape(values, (-1, weights.shape[0])), tf.bfloat16)
        product = tf.cast(tf.matmul(flat, tf.cast(weights, tf.bfloat16)), tf.float32) + self._encoder[f"{name}.b"]
        return tf.reshape(product, tf.concat([tf.shape(values)[:-1], (weights.shape[1],)], 0))

    def _normed(self, values: Tensor, name: str) -> Tensor:
        centred = values - tf.reduce_mean(values, -1, keepdims=True)
        spread = tf.reduce_mean(centred * centred, -1, keepdims=True)
        return centred * tf.math.rsqrt(spread + 1e-12) * self._encoder[f"{name}.w"] + self._encoder[f"{name}.b"]


_SHAPES = {
    "pieces": (2, tf.int32), "shown": (2, tf.float32), "ideas": (2, tf.float32), "languages": (2, tf.float32),
    "segment_of": (1, tf.int32), "case_of": (1, tf.int32), "truths": (2, tf.float32), "silences": (1, tf.float32),
    "holds": (1, tf.float32), "weights": (1, tf.float32), "absent": (2, tf.float32), "present": (2, tf.float32),
    "labels": (2, tf.int32), "label_trust": (1, tf.float32), "silence_trust": (2, tf.float32),
}  # fmt: skip


def _random(random: np.random.Generator, rows: int, columns: int, spread: float) -> Floats:
    return random.normal(0, spread, (rows, columns)).astype(np.float32)


def groups_of(kind: str) -> list[int]:
    """The groups in which a kind may be spoken of: its own, those it shares, and the two that name no kind."""
    own = [at for at, group in enumerate(GROUPS) if kind in group[0][0].partition(":")[0].split("/")]
    loose = [at for at, group in enumerate(GROUPS) if group[0][0] in ("action", "unread")]
    return own + [at for at in loose if kind != "order_status" or GROUPS[at][0][0] == "unread"]


def _speaks_of() -> Floats:
    table = np.zeros((len(_SPEAKS), len(GROUPS)), np.float32)
    for row, kind in enumerate(_SPEAKS):
        table[row, groups_of(kind)] = 1
    return table


def kinds_named(kinds: frozenset[str]) -> tuple[list[bool], list[bool]]:
    """Which groups must be silent, and which kinds must not be."""
    spoken = {group for kind in kinds for group in groups_of(kind)}
    return [at not in spoken for at in range(len(GROUPS))], [kind in kinds for kind in _SPEAKS]
