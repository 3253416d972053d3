"""What is written is what is read: every type, shape, string and matrix."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sample_folder import WORDS, load_all, write_sample
from scipy import sparse

from tailwright.store import FolderReader, FolderWriter, open_folder, writing
from tailwright.store.npy import PLAIN, read_npy

DTYPES = st.sampled_from(sorted(PLAIN)).map(np.dtype)
ARRAYS = DTYPES.flatmap(
    lambda d: npst.arrays(d, npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> object:
    """Hundreds of folders are written here; that they reach the disk is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda handle: None)
        yield


ThereAndBack = Callable[[Callable[[FolderWriter], None]], FolderReader]


@pytest.fixture(scope="module")
def there_and_back(tmp_path_factory: pytest.TempPathFactory) -> ThereAndBack:
    """Writes a folder and opens it again."""
    base, numbers = tmp_path_factory.mktemp("folders"), count()

    def run(write: Callable[[FolderWriter], None]) -> FolderReader:
        place = base / str(next(numbers))
        with writing(place, kind="test") as folder:
            write(folder)
        return open_folder(place, kind="test")

    return run


def assert_same(a: np.ndarray, b: np.ndarray) -> None:
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    assert a.tobytes() == b.tobytes()


@given(array=ARRAYS)
def test_arrays_of_every_plain_type_and_shape_come_back_bit_for_bit(there_and_back, array):
    folder = there_and_back(lambda f: f.array("a", array))
    for mapped in (False, True):
        assert_same(folder.array("a", dtype=array.dtype, shape=array.shape, mmap=mapped), array)


@given(array=ARRAYS)
def test_numpy_reads_our_arrays_and_we_read_numpys(there_and_back, array):
    folder = there_and_back(lambda f: f.array("a", array))
    assert_same(np.load(folder.path / "a.npy", allow_pickle=False), array)
    np.save(folder.path / "theirs.npy", array)
    assert_same(read_npy(folder.path / "theirs.npy"), array)


@given(tensors=st.dictionaries(TEXT.filter(lambda t: t != "__metadata__"), ARRAYS, max_size=4))
def test_tensors_come_back_bit_for_bit_and_any_safetensors_reader_takes_them(there_and_back, tensors):
    folder = there_and_back(lambda f: f.tensors("t", tensors))
    for loaded in (folder.tensors("t"), safetensors.numpy.load_file(folder.path / "t.safetensors")):
        assert loaded.keys() == tensors.keys()
        for name, tensor in tensors.items():
            assert_same(loaded[name], tensor)


@given(strings=st.lists(TEXT))
def test_strings_of_any_unicode_come_back(there_and_back, strings):
    folder = there_and_back(lambda f: f.strings("s", strings))
    loaded = folder.strings("s", count=len(strings))
    assert loaded.type == pa.large_string()
    assert loaded.to_pylist() == strings


@given(strings=st.lists(TEXT, min_size=2), start=st.integers(0, 3), kind=st.sampled_from(["slice", "chunks"]))
def test_arrow_strings_come_back_from_slices_and_chunks(there_and_back, strings, start, kind):
    array = pa.array(strings, pa.string())
    given_strings = array.slice(start) if kind == "slice" else pa.chunked_array([array, array.slice(start)])
    folder = there_and_back(lambda f: f.strings("s", given_strings))
    assert folder.strings("s").to_pylist() == given_strings.to_pylist()


@given(data=st.data(), rows=st.integers(0, 5), columns=st.integers(0, 5))
def test_sparse_matrices_come_back_with_their_empty_rows(there_and_back, data, rows, columns):
    dtype = data.draw(DTYPES.filter(lambda d: d != np.float16))
    dense = data.draw(npst.arrays(dtype, (rows, columns), fill=st.just(0)))
    folder = there_and_back(lambda f: f.csr("m", sparse.csr_array(dense)))
    loaded = folder.csr("m", dtype=dtype, shape=(rows, columns))
    assert isinstance(loaded, sparse.csr_array)
    assert_same(loaded.toarray(), sparse.csr_array(dense).toarray())


@given(value=JSON)
def test_json_values_come_back(there_and_back, value):
    assert there_and_back(lambda f: f.json("v.json", value)).json("v.json") == value


def test_a_folder_with_every_kind_of_file_comes_back(tmp_path):
    loaded = load_all(write_sample(tmp_path / "run"))
    assert loaded["vocabulary"] == WORDS
    assert loaded["features"] == [(3, 3), [1.0, 2.0, 3.0], [1, 0, 2], [0, 1, 1, 3]]
    assert loaded["weights"] == {"w": [[1.0] * 3] * 2, "b": [0, 1, 2, 3], "on": [True]}
    assert loaded["config"]["rates"] == [0.5, 1e-3]
    assert loaded["arrays"]["flags"] == [[[True, False], [False, True]]] * 2


def test_the_manifest_lists_each_file_with_its_size(tmp_path):
    path = write_sample(tmp_path / "run")
    manifest = json.loads((path / "manifest.json").read_bytes())
    assert list(manifest) == ["format", "version", "kind", "made_by", "files"]
    on_disk = {p.relative_to(path).as_posix(): p.stat().st_size for p in path.rglob("*") if p.is_file()}
    del on_disk["manifest.json"]
    assert {name: entry["bytes"] for name, entry in manifest["files"].items()} == on_disk


def test_names_has_and_sub_speak_of_the_same_files(tmp_path):
    folder = open_folder(write_sample(tmp_path / "run"), kind="run")
    assert "model/weights.safetensors" in folder.names()
    assert folder.sub("model").names() == ["shape.json", "weights.safetensors"]
    assert folder.has("config.json")
    assert folder.sub("model").has("shape.json")
    assert not folder.has("shape.json")
    assert folder.sub("mod").names() == []


def test_fortran_order_and_big_endian_arrays_are_written_in_the_plain_form(there_and_back):
    array = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    loaded = there_and_back(lambda f: f.array("a", array)).array("a", dtype=np.int32, shape=(2, 3))
    assert loaded.flags.c_contiguous
    assert loaded.tolist() == array.tolist()


def test_a_mapped_array_is_read_only_and_outlives_its_folder(tmp_path):
    path = write_sample(tmp_path / "run")
    counts = open_folder(path, kind="run").array("counts", mmap=True)
    write_sample(path, overwrite=True)
    assert counts.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 7


def test_files_beside_the_manifest_are_left_alone(tmp_path):
    path = write_sample(tmp_path / "run")
    (path / "log.jsonl").write_text("anything")
    assert not open_folder(path, kind="run").has("log.jsonl")


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda f: f.json("a.json", {"x": math.nan}), ValueError),
        (lambda f: f.json("a.json", {1: "x"}), TypeError),
        (lambda f: f.json("a.json", {"x": [{None: 1}]}), TypeError),
        (lambda f: f.json("a.json", {"x": np.float32(1)}), TypeError),
        (lambda f: f.json("a.json", ["\ud800"]), ValueError),
        (lambda f: f.json("a.json", 10**500), ValueError),
        (lambda f: f.json("a.txt", {}), ValueError),
        (lambda f: f.json("../a.json", {}), ValueError),
        (lambda f: f.json("/a.json", {}), ValueError),
        (lambda f: f.json("manifest.json", {}), ValueError),
        (lambda f: f.sub("..").json("a.json", {}), ValueError),
        (lambda f: [f.array("a", np.zeros(1)), f.array("a", np.zeros(1))], ValueError),
        (lambda f: f.array("a", np.array([object()])), TypeError),
        (lambda f: f.array("a", np.array(["text"])), TypeError),
        (lambda f: f.array("a", np.array([1j])), TypeError),
        (lambda f: f.tensors("a", {"__metadata__": np.zeros(1)}), ValueError),
        (lambda f: f.tensors("a", {"w": np.array(["2020-01-01"], dtype="M8[D]")}), TypeError),
        (lambda f: f.strings("a", ["x", None]), ValueError),
        (lambda f: f.strings("a", pa.array([1, 2])), TypeError),
        (lambda f: f.strings("a", ["\udc00"]), ValueError),
        (lambda f: f.csr("a", np.eye(2)), TypeError),
        (lambda f: f.csr("a", sparse.coo_array(np.eye(2))), TypeError),
        (lambda f: f.csr("a", sparse.csr_array(np.eye(2, dtype=np.complex64))), TypeError),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, write, problem):
    with pytest.raises(problem), writing(tmp_path / "run", kind="run") as folder:
        write(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_holds_itself_is_refused_and_so_is_one_nested_too_deep(there_and_back, tmp_path):
    circle: list = []
    circle.append(circle)
    deep: list = []
    for _ in range(64):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(ValueError), writing(tmp_path / "run", kind="run") as folder:
            folder.json("a.json", value)
    assert there_and_back(lambda f: f.json("a.json", deep[0])).json("a.json") == deep[0]


def test_a_matrix_with_an_index_out_of_range_is_not_written(tmp_path):
    matrix = sparse.csr_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, 1))
    matrix.indices[0] = 9
    with pytest.raises(ValueError, match="column index 9"), writing(tmp_path / "run", kind="run") as folder:
        folder.csr("m", matrix)


def test_a_mapped_folder_has_the_same_arrays_over_pages_that_processes_share(tmp_path):
    large, small = np.arange(20_000.0), np.arange(3)
    matrix = sparse.random_array((3000, 50), density=0.2, format="csr", rng=np.random.default_rng(0))
    with writing(tmp_path / "kept", kind="test") as folder:
        folder.array("large", large)
        folder.array("small", small)
        folder.csr("matrix", matrix)
        folder.tensors("tensors", {"wide": large, "narrow": large.astype(np.int8)})
    mapped = open_folder(tmp_path / "kept", kind="test", mapped=True)
    found = [mapped.array("large"), mapped.csr("matrix").data, mapped.tensors("tensors")["wide"]]
    assert np.array_equal(found[0], large)
    assert np.array_equal(found[1], matrix.data)
    assert np.array_equal(found[2], large)
    assert mapped.array("small").tolist() == [0, 1, 2]
    assert mapped.tensors("tensors")["narrow"].dtype == np.int8
    # They can be written to, as kernels demand, and the file stays as it is.
    for array in found:
        array[0] = 7
    assert open_folder(tmp_path / "kept", kind="test").array("large")[0] == 0
    pages = Path("/proc/self/maps").read_text()
    assert str(tmp_path / "kept" / "large.npy") in pages
    assert str(tmp_path / "kept" / "small.npy") not in pages
