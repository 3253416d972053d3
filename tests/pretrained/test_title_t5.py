"""The T5 of a package, from int8 ONNX to float32 safetensors."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from tailwright.errors import InputError
from tailwright.pretrained import weights_folder
from tailwright.pretrained.onnx_weights import read_onnx


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name: str, array: np.ndarray, kind: int, *, typed: int = 0) -> bytes:
    """As in a file: numbers as bytes, or those of a scalar in the field `typed`."""
    shape = b"".join(field(1, size) for size in array.shape)
    content = array.tobytes() if typed in {0, 4} else varint(int(array))
    return shape + field(2, kind) + field(typed or 9, content) + field(8, name.encode())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A product with a quantised matrix, and a norm that is not quantised."""
    constants = [
        tensor("norm", np.array([1.5, -2], np.float32), 1),
        tensor("m_quantized", np.array([[200, 0], [130, 131]], np.uint8), 2),
        tensor("m_zero_point", np.array(130, np.uint8), 2, typed=5),
        tensor("m_scale", np.array(0.5, np.float32), 1, typed=4),
    ]
    node = (
        field(1, b"x") + field(1, b"m_quantized") + field(3, b"/q/MatMul_quant") + field(4, b"MatMulInteger")
    )
    graph = field(1, node) + b"".join(field(5, constant) for constant in constants)
    path = tmp_path / "model.onnx"
    path.write_bytes(field(1, 8) + field(2, b"a name") + field(7, graph))
    return path


def test_constants_and_what_operations_read_are_found(file):
    onnx = read_onnx(file)
    assert onnx.reads == {"/q/MatMul_quant": ["x", "m_quantized"]}
    assert onnx.dequantised("norm").tolist() == [1.5, -2]
    assert onnx.dequantised("m").tolist() == [[35, -65], [0, 0.5]]
    with pytest.raises(InputError, match="no tensor other"):
        onnx.dequantised("other")


def test_another_file_is_refused_in_one_line(file):
    file.write_bytes(b"\xff\xfe no model")
    with pytest.raises(InputError, match=r"model\.onnx: cannot be read, expected a model in ONNX"):
        read_onnx(file)


@pytest.mark.slow
def test_the_real_title_t5_writes_titles(monkeypatch, tmp_path):
    try:
        importlib.metadata.distribution("traceforge-title-model")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("traceforge-title-model is not installed")
    import torch

    from tailwright.language.t5 import load_t5

    monkeypatch.setenv("TAILWRIGHT_CACHE", str(tmp_path))
    infiller = load_t5(weights_folder("title-t5"))
    assert infiller.forbidden == (3, 19794, 22354)
    assert infiller.model.lm_head.weight is not infiller.model.shared.weight
    assert len(infiller.all_tokens(["word " * 300])[0]) >= 300
    text = "Buffer overflow in the parser of OpenSSL allows remote attackers to execute code."
    with torch.no_grad():
        written = infiller.model.generate(torch.tensor(infiller.sources([""], [[text]])), max_new_tokens=20)
    assert "OpenSSL" in infiller.tokenizer.decode(written[0])
