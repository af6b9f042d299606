"""Writes what training learned into the two files the services read: encoder (bytes on common scales) and head."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_encoder import LONGEST_TEXT, ClaimEncoder
from agent.adapters.claim_network import described
from agent.adapters.claim_tokens import split_pieces

Floats = NDArray[np.float32]
MATRICES = ("q", "k", "v", "ao", "fi", "fo")
NORMS = ("aln", "oln")
_STEPS = 127


@dataclass(frozen=True)
class Vocabulary:
    """Word pieces with their scores, and each one's vector as four-bit numbers (216 bytes a piece of width 384)."""

    pieces: tuple[str, ...]
    scores: Floats
    words: NDArray[np.uint8]

    @classmethod
    def packaged(cls, path: Path) -> "Vocabulary":
        """The pieces of an encoder file; training keeps them."""
        with np.load(path, allow_pickle=False) as stored:
            pieces = split_pieces(bytes(stored["pieces"]).decode(), stored["lengths"].tolist())
            return cls(tuple(pieces), stored["scores"], stored["words"])


def save_encoder(path: Path, vocabulary: Vocabulary, learned: Mapping[str, Floats], layers: int) -> None:
    """`learned` holds `positions`, `words.norm.w/.b` and for each layer `l0.q.w`, `l0.q.b` … as trained."""
    arrays: dict[str, NDArray[np.generic]] = {
        "pieces": np.frombuffer("".join(vocabulary.pieces).encode(), dtype=np.uint8),
        "lengths": np.array([len(piece) for piece in vocabulary.pieces], dtype=np.uint8),
        "scores": vocabulary.scores.astype(np.float32),
        "words": vocabulary.words,
        "positions": learned["positions"][:LONGEST_TEXT].astype(np.float16),
        "layers": np.array(layers),
    }
    for part in ("w", "b"):
        arrays[f"words.norm.{part}"] = learned[f"words.norm.{part}"].astype(np.float32)
    for at in range(layers):
        for name in MATRICES:
            weights, scale = _in_bytes(learned[f"l{at}.{name}.w"])
            arrays |= {f"l{at}.{name}.w": weights, f"l{at}.{name}.scale": scale}
            arrays[f"l{at}.{name}.b"] = learned[f"l{at}.{name}.b"].astype(np.float16)
        for name in NORMS:
            for part in ("w", "b"):
                arrays[f"l{at}.{name}.{part}"] = learned[f"l{at}.{name}.{part}"].astype(np.float32)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def save_head(path: Path, head: Mapping[str, Floats], encoder: ClaimEncoder) -> None:
    """`head` holds `hidden`, `hidden_bias`, `out`, `out_bias` and `past`, columns in the order of the groups."""
    arrays = {name: values.astype(np.float16) for name, values in head.items()}
    np.savez_compressed(path, **arrays, about=np.array(json.dumps(described(encoder), sort_keys=True)))  # type: ignore[arg-type]


def _in_bytes(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each column on its own scale, so that one large weight costs only its column its precision."""
    scale = (np.abs(weights).max(axis=0) / _STEPS + np.float32(1e-12)).astype(np.float32)
    return np.round(weights / scale).astype(np.int8), scale
