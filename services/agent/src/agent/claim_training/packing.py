"""Writes what training learned into the files the services read: pieces, layers (ONNX, in bytes) and head."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_encoder import LAYERS_SUFFIX, LONGEST_TEXT, ClaimEncoder
from agent.adapters.claim_network import described
from agent.adapters.claim_tokens import split_pieces

Floats = NDArray[np.float32]


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
    np.savez_compressed(
        path,
        pieces=np.frombuffer("".join(vocabulary.pieces).encode(), dtype=np.uint8),
        lengths=np.array([len(piece) for piece in vocabulary.pieces], dtype=np.uint8),
        scores=vocabulary.scores.astype(np.float32),
        words=vocabulary.words,
        positions=learned["positions"][:LONGEST_TEXT].astype(np.float16),
    )
    from onnxruntime.quantization import (  # type: ignore[import-untyped]  # noqa: PLC0415 - needs `onnx`
        QuantType,
        quantize_dynamic,
    )

    from agent.claim_training.graph import layers_graph  # noqa: PLC0415 - needs `onnx`, there in training only

    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        whole.write_bytes(layers_graph(learned, layers).SerializeToString())
        # seven bits of eight: processors without VNNI add up pairs of products in 16 bits, which full bytes overflow
        quantize_dynamic(
            whole, path.with_suffix(LAYERS_SUFFIX), weight_type=QuantType.QInt8, per_channel=True, reduce_range=True,
            op_types_to_quantize=["MatMul"],
        )  # fmt: skip


def save_head(path: Path, head: Mapping[str, Floats], encoder: ClaimEncoder) -> None:
    """`head` holds `hidden`, `hidden_bias`, `out`, `out_bias` and `past`, columns in the order of the groups."""
    arrays = {name: values.astype(np.float16) for name, values in head.items()}
    np.savez_compressed(path, **arrays, about=np.array(json.dumps(described(encoder), sort_keys=True)))  # type: ignore[arg-type]
