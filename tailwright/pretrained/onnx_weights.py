"""The weights in an ONNX file, read without the onnx package: quantised numbers come back as float32.

An ONNX file is a protobuf message. Of all its fields only these are read: the graph's constant tensors, and
of each operation its name and what it reads, which says to which layer a constant belongs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tailwright.errors import InputError

# Field numbers of the messages Model, Graph, Node and Tensor.
_GRAPH = 7
_NODE, _CONSTANT = 1, 5
_READS, _NODE_NAME = 1, 3
_DIMENSION, _TYPE, _FLOATS, _INTEGERS, _TENSOR_NAME, _BYTES = 1, 2, 4, 5, 8, 9
# The numbers of the data types that weights have.
_DTYPES: dict[int, np.dtype] = {
    1: np.dtype("<f4"),
    2: np.dtype("u1"),
    3: np.dtype("i1"),
    6: np.dtype("<i4"),
    7: np.dtype("<i8"),
}


@dataclass(frozen=True, eq=False)
class OnnxWeights:
    """Constants by name, and for each operation the names of what it reads."""

    constants: dict[str, np.ndarray]
    reads: dict[str, list[str]]

    def dequantised(self, name: str) -> np.ndarray:
        """The constant called `name` in float32: as it is, or from its quantised numbers.

        These stand for (number - zero point) x scale, with one zero point and one scale for the tensor.
        """
        if name in self.constants:
            return self.constants[name].astype(np.float32)
        parts = [self.constants.get(f"{name}_{part}") for part in ("quantized", "zero_point", "scale")]
        numbers, zero, scale = parts
        if numbers is None or zero is None or scale is None:
            raise InputError(f"no tensor {name}", expected="a model in ONNX with these weights")
        return (numbers.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)


def read_onnx(path: Path) -> OnnxWeights:
    """The weights of the model in the file."""
    constants: dict[str, np.ndarray] = {}
    reads: dict[str, list[str]] = {}
    try:
        for graph in _messages(memoryview(path.read_bytes()), _GRAPH):
            for field, value in _fields(graph):
                if field == _CONSTANT and isinstance(value, memoryview):
                    name, array = _tensor(value)
                    constants[name] = array
                elif field == _NODE and isinstance(value, memoryview):
                    name = "".join(_texts(value, _NODE_NAME))
                    reads[name] = _texts(value, _READS)
    except (IndexError, ValueError) as error:
        raise InputError("cannot be read", expected="a model in ONNX", path=path) from error
    return OnnxWeights(constants, reads)


def _tensor(message: memoryview) -> tuple[str, np.ndarray]:
    """A tensor with its name. Its numbers are raw bytes, or those of a scalar in a field of their own."""
    shape: list[int] = []
    dtype: np.dtype = _DTYPES[1]
    numbers, name = np.zeros(0, np.float32), ""
    for field, value in _fields(message):
        if isinstance(value, int):
            if field == _DIMENSION:
                shape.append(value)
            elif field == _TYPE:
                dtype = _DTYPES.get(value, np.dtype("V1"))
        elif field == _DIMENSION:
            shape += _packed(value)
        elif field == _TENSOR_NAME:
            name = bytes(value).decode()
        elif field == _BYTES:
            numbers = np.frombuffer(value, np.uint8)
        elif field == _FLOATS:
            numbers = np.frombuffer(value, "<f4")
        elif field == _INTEGERS:
            numbers = np.array(_packed(value)).astype(dtype)
    return name, numbers.view(dtype).reshape(shape)


def _messages(message: memoryview, wanted: int) -> Iterator[memoryview]:
    for field, value in _fields(message):
        if field == wanted and isinstance(value, memoryview):
            yield value


def _texts(message: memoryview, wanted: int) -> list[str]:
    return [bytes(text).decode() for text in _messages(message, wanted)]


def _packed(message: memoryview) -> list[int]:
    """Whole numbers one after the other."""
    numbers, at = [], 0
    while at < len(message):
        number, at = _varint(message, at)
        numbers.append(number)
    return numbers


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: a whole number, or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(message, at)
            yield key >> 3, number
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError(f"a field of kind {kind}")
            size, at = _varint(message, at)
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number in steps of seven bits, the lowest first; and where the next field starts."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
