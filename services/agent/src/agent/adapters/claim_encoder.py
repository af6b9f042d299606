"""The reply check's sentence encoder: a multilingual transformer trained on claims, run by ONNX Runtime."""

import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray

from agent.adapters.claim_tokens import Pieces, split_pieces

Floats = NDArray[np.float32]
HEADS = 12
LONGEST_TEXT = 64
# What the layers take (pieces' vectors) and give.
STATE, READ = "state", "read"
LAYERS_SUFFIX = ".onnx"
_BLOCK = 32


class ClaimEncoder:
    """Texts to vectors of twice the width: mean and maximum over their pieces. Read-only after start, thread-safe."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` holds the pieces; the layers lie beside it under the same name with the suffix `.onnx`."""
        path = path or artefact()
        with np.load(path, allow_pickle=False) as stored:
            self._words: NDArray[np.uint8] = stored["words"]
            self._positions: Floats = stored["positions"].astype(np.float32)
            joined, lengths = bytes(stored["pieces"]).decode(), stored["lengths"].tolist()
            self._pieces = Pieces(split_pieces(joined, lengths), stored["scores"].tolist(), LONGEST_TEXT)
        layers = path.with_suffix(LAYERS_SUFFIX).read_bytes()
        self.fingerprint = hashlib.sha256(layers).hexdigest()[:16]
        self._layers = onnxruntime.InferenceSession(layers, _alone(), providers=["CPUExecutionProvider"])

    def __call__(self, texts: Sequence[str]) -> Floats:
        """One row a text, in the order given."""
        # Each by itself: numbers are rounded on the scale of all that is read together, and a text's vector, so a
        # sentence's verdict, must not hang on its neighbours.
        return np.stack([self._read(self._pieces.ids(text)) for text in texts])

    def _read(self, ids: list[int]) -> Floats:
        state = unpacked(self._words[ids])[None] + self._positions[: len(ids)]
        (read,) = self._layers.run([READ], {STATE: state})
        vector: Floats = np.concatenate([read[0].mean(0), read[0].max(0)])
        return vector


def unpacked(rows: NDArray[np.uint8]) -> Floats:
    """Four-bit numbers in blocks of 32 (a half-precision scale, then 16 bytes of two) as floats."""
    blocks = rows.reshape(*rows.shape[:-1], -1, 2 + _BLOCK // 2)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16).astype(np.float32)
    packed = blocks[..., 2:]
    values = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    return (values * scales).reshape(*rows.shape[:-1], -1)


def artefact() -> Path:
    """Where the packaged pieces lie, and beside them the layers."""
    return Path(str(resources.files("agent") / "claim_encoder.npz"))


def _alone() -> onnxruntime.SessionOptions:
    """One thread: the service's own event loop needs the other processors, and a fork must not lose any."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options
