"""Files that lie, in a folder whose manifest is right: one clear line each, before anything is allocated."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sample_folder import assert_damaged, replace_file, write_sample

from tailwright.store import DamagedFolderError, open_folder
from tailwright.store.strict_json import MAX_BYTES


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "run")


def npy(array: np.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def npy_that_says(
    dtype: str = "<i8", shape: str = "(5,)", order: str = "False", body: bytes = bytes(40)
) -> bytes:
    """An npy file with a header of our own making."""
    descr = dtype if dtype.startswith("[") else repr(dtype)
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (-(11 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body


def tensors_that_say(header: object, body: bytes = bytes(8)) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def replace_strings(run: Path, values: bytes, offsets: list[int]) -> None:
    replace_file(run, "vocabulary.bytes.npy", npy(np.frombuffer(values, np.uint8)))
    replace_file(run, "vocabulary.offsets.npy", npy(np.array(offsets, dtype=np.int64)))


def a_tensor(**changes: object) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}
    return tensors_that_say({"w": entry})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy_that_says(shape="(1000000000000,)"), "takes 8000000000000 bytes, expected the 40 that follow"),
        (npy_that_says(shape="(9223372036854775807, 9223372036854775807)"), "bytes, expected the 40"),
        (npy_that_says(shape="(0, 9223372036854775807)", body=b""), "absurd shape"),
        (npy_that_says(shape="(0, " + ", ".join(["2000000000"] * 8) + ")", body=b""), "absurd shape"),
        (npy_that_says(shape="(" + ", ".join(["1"] * 40) + ")", body=bytes(8)), "40 axes"),
        (npy_that_says(shape="(4,)"), "takes 32 bytes, expected the 40 that follow"),
        (npy_that_says(shape="(6,)"), "takes 48 bytes, expected the 40 that follow"),
        (npy_that_says(shape="(-5,)"), "npy header"),
        (npy_that_says(shape="(5)"), "npy header"),
        (npy_that_says(shape="[5]"), "npy header"),
        (npy_that_says(shape="(True,)"), "npy header"),
        (npy_that_says(shape="(5, )"), "npy header"),
        (npy_that_says(shape="(99999999999999999999,)"), "npy header"),
        (npy_that_says(shape="__import__('os').getpid()"), "npy header"),
    ],
)
def test_absurd_shape_is_refused_before_anything_is_allocated(run, content, words):
    replace_file(run, "counts.npy", content)
    assert_damaged(run, "counts.npy", words)


@pytest.mark.parametrize(
    "dtype", ["|O", "O", "<M8[ns]", "<U4", "|S8", "|V8", ">i8", "<c16", "<f16", "<i3", "i8", "int64", ""]
)
def test_object_and_other_odd_dtypes_are_refused(run, dtype):
    replace_file(run, "counts.npy", npy_that_says(dtype=dtype))
    assert_damaged(run, "counts.npy", f"dtype {dtype!r}, expected a plain numeric dtype")


def test_real_object_array_is_refused(run):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array([print], dtype=object), allow_pickle=True)
    replace_file(run, "counts.npy", file.getvalue())
    assert_damaged(run, "counts.npy", "dtype '|O'")


def test_structured_dtype_is_refused(run):
    replace_file(run, "counts.npy", npy_that_says(dtype="[('a', '<i8')]"))
    assert_damaged(run, "counts.npy", "npy header")


def test_fortran_order_is_refused(run):
    replace_file(run, "counts.npy", npy(np.asfortranarray(np.ones((2, 3)))))
    assert_damaged(run, "counts.npy", "an array in Fortran order, expected C order")


@pytest.mark.parametrize("version", [(2, 0), (3, 0)])
def test_newer_npy_versions_are_refused(run, version):
    replace_file(run, "counts.npy", npy(np.arange(5), version))
    assert_damaged(run, "counts.npy", f"npy version {version[0]}.0, expected version 1.0")


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"",
        lambda raw: raw[:9],
        lambda raw: b"\x92" + raw[1:],
        lambda raw: raw[:6] + b"\x01\x07" + raw[8:],
        lambda raw: raw[:8] + b"\xff\xff" + raw[10:],
        lambda raw: raw[:8] + b"\x00\x00" + raw[10:],
        lambda raw: raw[:8] + b"\x75\x00" + raw[10:],
        lambda raw: raw[:60],
        lambda raw: raw.replace(b"'descr'", b"'desc\xff'"),
        lambda raw: raw.replace(b"'shape'", b"'descr'"),
        lambda raw: raw.replace(b"<i8", b"\xff\xff\xff"),
        lambda raw: raw.replace(b" \n", b"\n").replace(b"\x76\x00", b"\x75\x00"),
        lambda raw: raw + b"\0",
        lambda raw: raw[:-1],
    ],
)
def test_odd_npy_files_are_refused(run, change):
    raw = (run / "counts.npy").read_bytes()
    assert change(raw) != raw
    replace_file(run, "counts.npy", change(raw))
    assert_damaged(run, "counts.npy")


def test_bools_of_other_bytes_are_refused(run):
    replace_file(run, "flags.npy", npy_that_says("|b1", "(2, 2)", body=b"\0\1\2\0"))
    assert_damaged(run, "flags.npy", "a byte other than 0 and 1, expected bools")


@pytest.mark.parametrize(
    ("values", "offsets", "words"),
    [
        (b"abc", [0, 2, 1, 3], "offsets fall after entry 1"),
        (b"abc", [0, 9, 3], "offsets fall"),
        (b"abc", [0, -1, 3], "offsets fall"),
        (b"abc", [0, 4], "offsets run from 0 to 4, not from 0 to 3"),
        (b"abc", [0, 2], "offsets run from 0 to 2, not from 0 to 3"),
        (b"abc", [1, 3], "offsets run from 1 to 3"),
        (b"abc", [-(2**63), 3], "offsets run from"),
        (b"abc", [], "no offsets"),
    ],
)
def test_offsets_out_of_order_or_out_of_range_are_refused(run, values, offsets, words):
    replace_strings(run, values, offsets)
    assert_damaged(run, "vocabulary", words)


@pytest.mark.parametrize(
    ("values", "offsets"),
    [
        (b"a\xffc", [0, 3]),
        (b"\xc3\xa9", [0, 1, 2]),  # one character over two strings
        (b"\xed\xa0\x80", [0, 3]),  # a surrogate
        (b"\xc0\xaf", [0, 2]),  # a slash in two bytes
    ],
)
def test_bad_utf8_is_refused(run, values, offsets):
    replace_strings(run, values, offsets)
    assert_damaged(run, "vocabulary", "UTF8", "expected UTF-8 strings")


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float64])
def test_offsets_of_another_type_are_refused(run, dtype):
    replace_file(run, "vocabulary.offsets.npy", npy(np.zeros(6, dtype=dtype)))
    assert_damaged(run, "vocabulary.offsets.npy", f"dtype {np.dtype(dtype)}, expected int64")


@pytest.mark.parametrize(
    ("part", "array", "words"),
    [
        ("indices", np.array([1, 0, 3], np.int32), "column index 3 outside 0..2"),
        ("indices", np.array([1, -1, 2], np.int32), "column index -1 outside 0..2"),
        ("indices", np.array([1, 0, 2**40]), f"column index {2**40} outside"),
        ("indices", np.array([1, 0], np.int32), "3 values but 2 column indices"),
        ("indices", np.array([1, 0, 2], np.uint32), "dtype uint32"),
        ("indices", np.array([1, 0, 2], np.float32), "dtype float32"),
        ("indices", np.array([[1, 0, 2]], np.int32), "shape (1, 3), expected (any)"),
        ("indptr", np.array([0, 2, 1, 3], np.int32), "row pointers fall after entry 1"),
        ("indptr", np.array([0, 1, 1, 4], np.int32), "row pointers run from 0 to 4"),
        ("indptr", np.array([1, 1, 1, 3], np.int32), "row pointers run from 1 to 3"),
        ("indptr", np.array([0, 3], np.int32), "2 row pointers for 3 rows"),
        ("indptr", np.array([], np.int32), "0 row pointers for 3 rows"),
        ("shape", np.array([3, 2]), "column index 2 outside 0..1"),
        ("shape", np.array([3, -1]), "absurd number of columns -1"),
        ("shape", np.array([3, 2**62]), f"absurd number of columns {2**62}"),
        ("shape", np.array([-1, 3]), "4 row pointers for -1 rows"),
        ("shape", np.array([2**62, 3]), f"4 row pointers for {2**62} rows"),
        ("shape", np.array([3, 3, 3]), "shape (3,), expected (2)"),
        ("shape", np.array([3.0, 3.0]), "dtype float64, expected int64"),
        ("data", np.array([1, 2], np.float32), "2 values but 3 column indices"),
        ("data", np.array([1, 2, 3], np.float16), "dtype float16"),
    ],
)
def test_csr_index_out_of_range_and_other_inconsistencies_are_refused(run, part, array, words):
    replace_file(run, f"features.{part}.npy", npy(array))
    assert_damaged(run, "features", words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "header of 0 bytes in a file of 0"),
        (b"\0\0\0", "in a file of 3"),
        ((2**63).to_bytes(8, "little") + b"{}", "in a file of 10"),
        ((3).to_bytes(8, "little") + b"{}", "header of 3 bytes in a file of 10"),
        (tensors_that_say(b"{", b""), "safetensors header"),
        (tensors_that_say(b"[]", b""), "safetensors header"),
        (tensors_that_say(b"[" * 100_000, b""), "nested deeper than 64"),
        (tensors_that_say(b'{"w": {}, "w": {}}'), "the same key twice"),
        (tensors_that_say({}), "take 0 bytes, but 8 follow"),
        (tensors_that_say({"__metadata__": {"a": "b"}}, b""), "safetensors header"),
        (a_tensor(shape=[3]), "takes 12 bytes"),
        (a_tensor(shape=[2**62, 2**62]), "bytes from 0"),
        (a_tensor(shape=[0, 2**62], data_offsets=[0, 0]), "absurd shape"),
        (a_tensor(shape=[-2]), "greater than or equal to 0"),
        (a_tensor(shape=[2.0]), "valid integer"),
        (a_tensor(shape=[True, 2]), "valid integer"),
        (a_tensor(shape=[1] * 50), "at most 32 items"),
        (a_tensor(shape="2"), "valid list"),
        (a_tensor(data_offsets=[0, 4]), "lies at 0..4"),
        (a_tensor(data_offsets=[8, 0]), "lies at 8..0"),
        (a_tensor(data_offsets=[4, 12]), "lies at 4..12"),
        (a_tensor(data_offsets=[0, 8, 8]), "at most 2 items"),
        (a_tensor(dtype="F64"), "takes 16 bytes"),
        (a_tensor(dtype="BF16"), "Input should be 'BOOL'"),
        (a_tensor(dtype="O"), "Input should be 'BOOL'"),
        (a_tensor(more=1), "Extra inputs are not permitted"),
        (a_tensor(dtype="BOOL", shape=[8])[:-1] + b"\2", "a byte other than 0 and 1"),
        (
            tensors_that_say({n: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for n in "ab"}),
            "takes 8 bytes from 8",
        ),
    ],
)
def test_safetensors_header_that_lies_is_refused(run, content, words):
    replace_file(run, "model/weights.safetensors", content)
    assert_damaged(run, "model/weights.safetensors", words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 64"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested deeper than 64"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e999", "beyond the range of a float"),
        (b"1" * 5000, "5000 digits"),
        (b'{"a": 1, "a": 2}', "the same key twice"),
        (b'"\\ud800"', "a lone surrogate"),
        (b'{"\\uDC00": 1}', "a lone surrogate"),
        (b'"\xff"', "invalid UTF-8 at byte 1"),
        (b"{}{}", "Extra data"),
        (b"", "Expecting value"),
        ("{}".encode("utf-16"), "invalid UTF-8"),
    ],
)
def test_json_bombs_and_other_odd_json_are_refused(run, content, words):
    replace_file(run, "config.json", content)
    assert_damaged(run, "config.json: not JSON", words)


def test_surrogate_pairs_in_json_are_one_character(run):
    replace_file(run, "config.json", b'"\\ud83d\\udc5f"')
    assert open_folder(run, kind="run").json("config.json") == "👟"


def test_huge_json_is_refused(run):
    replace_file(run, "config.json", b'"' + b"x" * MAX_BYTES + b'"')
    assert_damaged(run, "config.json", f"more than {MAX_BYTES}")


# What the reader wants is not what the file holds.


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda f: f.array("counts", dtype=np.int32), r"counts\.npy: dtype int64, expected int32"),
        (lambda f: f.array("counts", shape=(6,)), r"counts\.npy: shape \(5,\), expected \(6\)"),
        (lambda f: f.array("counts", shape=(None, None)), r"shape \(5,\), expected \(any, any\)"),
        (lambda f: f.array("flags", shape=(None, 3)), r"shape \(2, 2\), expected \(any, 3\)"),
        (
            lambda f: f.strings("vocabulary", count=4),
            r"vocabulary\.offsets\.npy: shape \(6,\), expected \(5\)",
        ),
        (
            lambda f: f.csr("features", dtype=np.float64),
            r"features\.data\.npy: dtype float32, expected float64",
        ),
        (lambda f: f.csr("features", shape=(None, 4)), r"features: shape \(3, 3\), expected \(any, 4\)"),
        (lambda f: f.sub("model").tensors("weights", shapes={"w": (2, 3)}), "tensor 'b' is unknown"),
        (
            lambda f: f.sub("model").tensors("weights", shapes={"w": (2, 3), "b": (4,), "on": (1,), "z": ()}),
            "tensor 'z' is missing",
        ),
        (
            lambda f: f.sub("model").tensors("weights", shapes={"w": (None, 2), "b": (4,), "on": (1,)}),
            r"'w' of shape \(2, 3\), expected \(any, 2\)",
        ),
        (lambda f: f.json("other.json"), r"other\.json: is not in the manifest"),
        (lambda f: f.json("../run/config.json"), "is not in the manifest"),
    ],
)
def test_content_that_is_not_as_expected_is_refused(run: Path, read: Callable, words: str):
    folder = open_folder(run, kind="run")
    with pytest.raises(DamagedFolderError, match=words):
        read(folder)


def test_content_that_is_as_expected_is_accepted(run):
    folder = open_folder(run, kind="run")
    assert folder.array("flags", dtype=bool, shape=(None, 2)).shape == (2, 2)
    assert folder.csr("features", dtype=np.float32, shape=(3, None)).nnz == 3
    assert len(folder.strings("vocabulary", count=5)) == 5
    shapes = {"w": (None, 3), "b": (4,), "on": (1,)}
    assert folder.sub("model").tensors("weights", shapes=shapes).keys() == shapes.keys()


def test_file_swapped_for_a_link_after_opening_is_refused(run):
    folder = open_folder(run, kind="run")
    (run / "config.json").rename(run.parent / "outside.json")
    (run / "config.json").symlink_to(run.parent / "outside.json")
    with pytest.raises(DamagedFolderError, match="symbolic link"):
        folder.json("config.json")
