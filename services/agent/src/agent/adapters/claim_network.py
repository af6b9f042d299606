"""The reply check's trained network: the claim encoder's vectors and the rules' own ideas, read kind by kind."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_encoder import ClaimEncoder
from agent.adapters.opinions import IDEA_COUNT, RememberedOpinions
from agent.core.claims.manner import MANNERS
from agent.core.claims.opinion import Opinion
from agent.core.claims.segments import KINDS, STATUSES, Segment

Floats = NDArray[np.float32]
LANGUAGES = ("en", "es", "fr", "de")
# Vectors are wider spread than yes/no values; halved, both weigh alike at the start of training.
VECTOR_WEIGHT = IDEA_WEIGHT = np.float32(0.5)
_BOUND = 20.0
_ROWS = (*KINDS, "action", "address_change/account_change")
_ORDERS = (
    *((f"order_status:{status}", "done") for status in STATUSES),
    *((f"order_status:{status}!", "done") for status in STATUSES),
    ("order_status:shipped", "future"),
    ("order_status:delivered", "future"),
)
# The groups of an opinion, in the order of the network's outputs.
GROUPS: tuple[tuple[tuple[str, str], ...], ...] = (
    *(tuple((kind, manner) for manner in MANNERS) for kind in _ROWS),
    _ORDERS,
    (("unread", "done"),),
)
GROUP_OF = np.repeat(np.arange(len(GROUPS)), [len(group) for group in GROUPS])


class ClaimNetwork:
    """Reads segments by one hidden layer over vector, ideas and language, beside a straight way past it."""

    def __init__(self, encoder: ClaimEncoder, path: Path | None = None) -> None:
        """Raises ValueError when the artefact was trained for other ideas or groups, or with another encoder."""
        self._opinions = RememberedOpinions(encoder, self._read)
        with np.load(path or artefact(), allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            if about != described(encoder):
                raise ValueError("claim network was trained for other features; run python -m agent.claim_training")
            self._weights = {name: stored[name].astype(np.float32) for name in ("hidden", "out", "past")}
            self._biases = {name: stored[name].astype(np.float32) for name in ("hidden_bias", "out_bias")}

    def __call__(self, segments: Sequence[Segment]) -> list[Opinion]:
        """One opinion a segment; segments seen lately cost a look-up."""
        return self._opinions.of(segments)

    def _read(self, vector: Floats, segment: Segment) -> Opinion:
        seen = features(vector, segment)
        hidden = gelu(seen @ self._weights["hidden"] + self._biases["hidden_bias"])
        scores = hidden @ self._weights["out"] + seen @ self._weights["past"] + self._biases["out_bias"]
        return opinion_of(scores)


def gelu(values: Floats) -> Floats:
    """The smooth gate the network was trained with, in its tanh form."""
    inner: Floats = np.tanh(np.float32(0.7978845608) * (values + np.float32(0.044715) * values**3))
    return np.float32(0.5) * values * (1 + inner)


def features(vector: Floats, segment: Segment) -> Floats:
    """What the head reads: the vector, the ideas and which language it is."""
    language = [float(segment.language == code) for code in LANGUAGES]
    return np.concatenate(
        [vector * VECTOR_WEIGHT, np.array(segment.ideas, dtype=np.float32) * IDEA_WEIGHT, language]
    ).astype(np.float32)


def opinion_of(scores: Floats) -> Opinion:
    """Scores to probabilities: in each group against a silence that always scores 0."""
    powers = np.exp(np.clip(scores, -_BOUND, _BOUND))
    sums = 1 + np.bincount(GROUP_OF, powers, minlength=len(GROUPS))
    shares = powers / sums[GROUP_OF]
    groups, start = [], 0
    for group in GROUPS:
        here = shares[start : start + len(group)].tolist()
        groups.append(tuple((topic, manner, share) for (topic, manner), share in zip(group, here, strict=True)))
        start += len(group)
    return Opinion(tuple(groups))


def described(encoder: ClaimEncoder) -> dict[str, object]:
    """What weights are good for: the same encoder, ideas and groups."""
    return {"encoder": encoder.fingerprint, "ideas": IDEA_COUNT, "groups": [[f"{t} {m}" for t, m in g] for g in GROUPS]}


def artefact() -> Path:
    """Where the packaged weights lie."""
    return Path(str(resources.files("agent") / "claim_network.npz"))
