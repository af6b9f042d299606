"""The course of training: examples cut into batches of like length, shown some times in an order drawn by chance."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_network import GROUP_OF, GROUPS, LANGUAGES
from agent.adapters.claim_tokens import PADDING, UNKNOWN, Pieces
from agent.claim_training.network import Batch, Network, kinds_named
from agent.claim_training.rows import OUTPUTS, Example

_BATCH = 64
# Batches are cut from so many at once that their texts are of nearly one length, and still mixed.
_SORTED_TOGETHER = 12
_PIECES_LOST = 0.04
# The rules were tuned on these rounds' sentences until they read nearly all of them; fewer are shown after once.
_WELL_KNOWN = frozenset({"own", "sa1", "sa2", "sa3", "sa4", "sa5", *(f"f{n}" for n in range(1, 12))})
_KNOWN_SHARE = 0.3
_WARM_SHARE = 0.06
_SLOWEST = 0.02


class Course:
    """Feeds a network; what is drawn depends on the seed alone."""

    def __init__(self, network: Network, pieces: Pieces, seed: int, say: Callable[[str], None]) -> None:
        self._network, self._pieces, self._say = network, pieces, say
        self._random = np.random.default_rng(seed)

    def run(self, examples: Sequence[Example], rounds: int, pace: float) -> None:
        """Show the examples `rounds` times, well-known ones less often after the first.

        The pace rises for a moment, then falls to nearly nothing.
        """
        shown = [self._batches(examples, everything=n == 0) for n in range(rounds)]
        total, at, losses = sum(map(len, shown)), 0, list[float]()
        for batches in shown:
            for chosen in batches:
                at += 1
                share = min(1.0, at / (_WARM_SHARE * total)) * max(_SLOWEST, 1 - at / total)
                losses.append(self._network.learn(self._batch(chosen), pace * share))
                if at % 50 == 0:
                    self._say(f"step {at} of {total}, loss {np.mean(losses):.3f}")
                    losses = []

    def _batches(self, examples: Sequence[Example], *, everything: bool) -> list[list[Example]]:
        chosen = [
            e for e in examples
            if everything or e.group not in _WELL_KNOWN or self._random.random() < _KNOWN_SHARE
        ]  # fmt: skip
        order = self._random.permutation(len(chosen))
        lengths = np.array([max(len(s.text) for s in e.segments) for e in chosen])
        found: list[list[Example]] = []
        for part in np.array_split(order, max(1, len(order) // (_BATCH * _SORTED_TOGETHER))):
            alike = part[np.argsort(lengths[part], kind="stable")]
            found += [[chosen[i] for i in alike[at : at + _BATCH]] for at in range(0, len(alike), _BATCH)]
        return [found[i] for i in self._random.permutation(len(found))]

    def _batch(self, examples: Sequence[Example]) -> Batch:
        segments = [segment for example in examples for segment in example.segments]
        ids = [self._pieces.ids(segment.text) for segment in segments]
        longest = max(map(len, ids))
        table = np.array([row + [PADDING] * (longest - len(row)) for row in ids], dtype=np.int32)
        lost = (self._random.random(table.shape) < _PIECES_LOST) & (table > UNKNOWN)
        shown = np.arange(longest)[None, :] < np.array([len(row) for row in ids])[:, None]
        return Batch(
            pieces=np.where(lost, UNKNOWN, table).astype(np.int32),
            shown=shown.astype(np.float32),
            ideas=_floats([segment.ideas for segment in segments], (len(segments), -1)),
            languages=_floats([[s.language == code for code in LANGUAGES] for s in segments], (len(segments), -1)),
            **_cases(examples),
            **_labels(examples),
        )


def _cases(examples: Sequence[Example]) -> dict[str, NDArray[Any]]:
    segment_of: list[int] = []
    case_of: list[int] = []
    truths: list[NDArray[np.bool_]] = []
    silences: list[NDArray[np.bool_]] = []
    holds: list[bool] = []
    weights: list[float] = []
    absent: list[list[bool]] = []
    present: list[list[bool]] = []
    for start, example in _numbered(examples):
        for case in example.cases:
            silent, spoken = kinds_named(case.kinds)
            segment_of += range(start, start + len(example.segments))
            case_of += [len(holds)] * len(example.segments)
            truths.append(case.truths)
            silences.append(case.silences)
            holds.append(case.holds)
            # the same words beside other facts teach less than other words
            weights.append(len(example.cases) ** -0.5)
            absent.append(silent)
            present.append(spoken)
    return {
        "segment_of": np.array(segment_of, np.int32), "case_of": np.array(case_of, np.int32),
        "truths": _floats(np.concatenate(truths) if truths else [], (-1, OUTPUTS)),
        "silences": _floats(np.concatenate(silences) if silences else [], (-1,)),
        "holds": _floats(holds, (-1,)), "weights": _floats(weights, (-1,)),
        "absent": _floats(absent, (-1, len(GROUPS))), "present": _floats(present, (-1, 7)),
    }  # fmt: skip


def _labels(examples: Sequence[Example]) -> dict[str, NDArray[Any]]:
    labels: list[tuple[int, int]] = []
    trust: list[float] = []
    silence: list[list[float]] = []
    for start, example in _numbered(examples):
        # a person labelled what belongs to no row; the rules' silence is worth half of what they say
        quiet = example.trust * (0.5 if example.cases else 1.0)
        for at, here in enumerate(example.labels):
            labels += [(start + at, label) for label in here]
            trust += [example.trust / max(len(here), 1)] * len(here)
            spoken = {int(GROUP_OF[label]) for label in here}
            silence.append([0.0 if group in spoken else quiet for group in range(len(GROUPS))])
    return {
        "labels": np.array(labels, np.int32).reshape(-1, 2), "label_trust": _floats(trust, (-1,)),
        "silence_trust": _floats(silence, (-1, len(GROUPS))),
    }  # fmt: skip


def _numbered(examples: Sequence[Example]) -> Iterator[tuple[int, Example]]:
    """Each example with the number of its first segment in the batch."""
    start = 0
    for example in examples:
        yield start, example
        start += len(example.segments)


def _floats(values: object, shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32).reshape(shape)
