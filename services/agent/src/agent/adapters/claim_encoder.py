"""The reply check's sentence encoder: four layers of a multilingual transformer, trained on claims, in plain numpy."""

import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_tokens import PADDING, Pieces, split_pieces

Floats = NDArray[np.float32]
HEADS = 12
LONGEST_TEXT = 64
# Texts of one length are read together; more at once gain nothing, since the weights fit no cache anyway.
_TOGETHER = 16
_EPSILON = 1e-12
_BLOCK = 32
_MATRICES = ("q", "k", "v", "ao", "fi", "fo")
_NORMS = ("aln", "oln")


class ClaimEncoder:
    """Texts to vectors of twice the width: mean and maximum over their pieces. Read-only after start, thread-safe."""

    def __init__(self, path: Path | None = None) -> None:
        with np.load(path or artefact(), allow_pickle=False) as stored:
            self._words: NDArray[np.uint8] = stored["words"]
            self._positions: Floats = stored["positions"].astype(np.float32)
            self._opening = _norm(stored, "words.norm")
            layers = int(stored["layers"])
            self._layers = [_layer(stored, at) for at in range(layers)]
            joined, lengths = bytes(stored["pieces"]).decode(), stored["lengths"].tolist()
            self._pieces = Pieces(split_pieces(joined, lengths), stored["scores"].tolist(), LONGEST_TEXT)
            self.fingerprint = hashlib.sha256(
                b"".join(stored[f"l{at}.fo.w"].tobytes() for at in range(layers))
            ).hexdigest()[:16]

    def __call__(self, texts: Sequence[str]) -> Floats:
        """One row a text, in the order given."""
        ids = [self._pieces.ids(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        found: dict[int, Floats] = {}
        for start in range(0, len(order), _TOGETHER):
            chosen = order[start : start + _TOGETHER]
            found.update(zip(chosen, self._read([ids[at] for at in chosen]), strict=True))
        return np.stack([found[at] for at in range(len(ids))])

    def _read(self, ids: list[list[int]]) -> Floats:
        longest = max(map(len, ids))
        table = np.array([row + [PADDING] * (longest - len(row)) for row in ids])
        there = (np.arange(longest)[None, :] < np.array([len(row) for row in ids])[:, None])[:, :, None]
        shown = there.astype(np.float32)
        state = _normed(unpacked(self._words[table]) + self._positions[:longest], self._opening)
        hidden = (1 - shown).reshape(len(ids), 1, 1, longest) * np.float32(-1e9)
        for layer in self._layers:
            state = _step(state, hidden, layer)
        mean = (state * shown).sum(1) / shown.sum(1)
        return np.concatenate([mean, np.where(there, state, -np.inf).max(1)], axis=1)


Layer = dict[str, tuple[Floats, Floats]]


def _step(state: Floats, hidden: Floats, layer: Layer) -> Floats:
    """One layer: every piece looks at the others, then is reworked by itself."""
    rows, pieces, width = state.shape
    flat = state.reshape(-1, width)

    def heads(name: str) -> Floats:
        return _linear(flat, layer[name]).reshape(rows, pieces, HEADS, -1).transpose(0, 2, 1, 3)

    scores = heads("q") @ heads("k").transpose(0, 1, 3, 2) * np.float32((width / HEADS) ** -0.5) + hidden
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    looked = (scores / scores.sum(-1, keepdims=True)) @ heads("v")
    looked = looked.transpose(0, 2, 1, 3).reshape(-1, width)
    flat = _normed(flat + _linear(looked, layer["ao"]), layer["aln"])
    flat = _normed(flat + _linear(gelu(_linear(flat, layer["fi"])), layer["fo"]), layer["oln"])
    return flat.reshape(state.shape)


def gelu(values: Floats) -> Floats:
    """The smooth gate the network was trained with, in its tanh form."""
    inner = values * values
    # in place: this is read for every piece and layer, and room for each step costs as much as the step
    inner *= np.float32(0.0356774081)
    inner += np.float32(0.7978845608)
    inner *= values
    np.tanh(inner, out=inner)
    inner += 1
    inner *= values
    inner *= np.float32(0.5)
    return inner


def unpacked(rows: NDArray[np.uint8]) -> Floats:
    """Four-bit numbers in blocks of 32 (a half-precision scale, then 16 bytes of two) as floats."""
    blocks = rows.reshape(*rows.shape[:-1], -1, 2 + _BLOCK // 2)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    packed = blocks[..., 2:]
    values = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    return (values * scales).reshape(*rows.shape[:-1], -1)


def artefact() -> Path:
    """Where the packaged network lies."""
    return Path(str(resources.files("agent") / "claim_encoder.npz"))


def _layer(stored: "np.lib.npyio.NpzFile", at: int) -> Layer:
    matrices = {
        name: (
            stored[f"l{at}.{name}.w"].astype(np.float32) * stored[f"l{at}.{name}.scale"],
            stored[f"l{at}.{name}.b"].astype(np.float32),
        )
        for name in _MATRICES
    }
    return matrices | {name: _norm(stored, f"l{at}.{name}") for name in _NORMS}


def _norm(stored: "np.lib.npyio.NpzFile", name: str) -> tuple[Floats, Floats]:
    return stored[f"{name}.w"].astype(np.float32), stored[f"{name}.b"].astype(np.float32)


def _linear(values: Floats, weights: tuple[Floats, Floats]) -> Floats:
    return values @ weights[0] + weights[1]


def _normed(values: Floats, weights: tuple[Floats, Floats]) -> Floats:
    centred = values - values.mean(-1, keepdims=True)
    spread = (centred * centred).mean(-1, keepdims=True)
    normed: Floats = centred / np.sqrt(spread + np.float32(_EPSILON)) * weights[0] + weights[1]
    return normed
