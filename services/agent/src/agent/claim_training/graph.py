"""The encoder's layers as an ONNX graph, written with the weights that training learned."""

from collections.abc import Mapping

import numpy as np
import onnx  # type: ignore[import-untyped,import-not-found,unused-ignore]
from numpy.typing import NDArray
from onnx import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
    TensorProto,
    helper,
    numpy_helper,
)

from agent.adapters.claim_encoder import HEADS, READ, STATE

Floats = NDArray[np.float32]
_OPSET, _IR = 20, 10
_EPSILON = 1e-12


def layers_graph(learned: Mapping[str, Floats], layers: int) -> onnx.ModelProto:
    """`state` (texts, pieces, width) to `read`, of the same shape; no text is padded."""
    return _Graph(learned).of(layers)


class _Graph:
    def __init__(self, learned: Mapping[str, Floats]) -> None:
        self._learned = learned
        self._nodes: list[onnx.NodeProto] = []
        self._stored: dict[str, onnx.TensorProto] = {}

    def of(self, layers: int) -> onnx.ModelProto:
        width = len(self._learned["words.norm.w"])
        self._split = self._store("split", np.array([0, 0, HEADS, width // HEADS], np.int64))
        self._joined = self._store("joined", np.array([0, 0, width], np.int64))
        self._scale = self._store("scale", np.array((width / HEADS) ** -0.5, np.float32))
        state = self._norm(STATE, "words.norm")
        for layer in range(layers):
            state = self._layer(state, f"l{layer}.")
        self._nodes.append(helper.make_node("Identity", [state], [READ]))
        graph = helper.make_graph(
            self._nodes, "claims",
            [helper.make_tensor_value_info(STATE, TensorProto.FLOAT, ["texts", "pieces", width])],
            [helper.make_tensor_value_info(READ, TensorProto.FLOAT, ["texts", "pieces", width])],
            list(self._stored.values()),
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        onnx.checker.check_model(model)
        return model

    def _layer(self, state: str, at: str) -> str:
        query, value = self._heads(state, f"{at}q", (0, 2, 1, 3)), self._heads(state, f"{at}v", (0, 2, 1, 3))
        key = self._heads(state, f"{at}k", (0, 2, 3, 1))
        scores = self._op("Mul", self._op("MatMul", query, key), self._scale)
        looked = self._op("MatMul", self._op("Softmax", scores, axis=-1), value)
        looked = self._op("Reshape", self._op("Transpose", looked, perm=(0, 2, 1, 3)), self._joined)
        state = self._norm(self._op("Add", state, self._linear(looked, f"{at}ao")), f"{at}aln")
        inner = self._op("Gelu", self._linear(state, f"{at}fi"), approximate="tanh")
        return self._norm(self._op("Add", state, self._linear(inner, f"{at}fo")), f"{at}oln")

    def _heads(self, state: str, name: str, order: tuple[int, ...]) -> str:
        return self._op("Transpose", self._op("Reshape", self._linear(state, name), self._split), perm=order)

    def _linear(self, values: str, name: str) -> str:
        return self._op("Add", self._op("MatMul", values, self._weight(f"{name}.w")), self._weight(f"{name}.b"))

    def _norm(self, values: str, name: str) -> str:
        weights, bias = self._weight(f"{name}.w"), self._weight(f"{name}.b")
        return self._op("LayerNormalization", values, weights, bias, axis=-1, epsilon=_EPSILON)

    def _weight(self, name: str) -> str:
        return self._store(name, self._learned[name].astype(np.float32))

    def _store(self, name: str, values: NDArray[np.generic]) -> str:
        self._stored.setdefault(name, numpy_helper.from_array(values, name))
        return name

    def _op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"n{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name
