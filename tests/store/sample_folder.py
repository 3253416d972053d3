"""A small folder with every kind of file, what it holds, and ways to damage it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tailwright.store import DamagedFolderError, FolderReader, FolderWriter, open_folder, writing

WORDS = ["", "red shoes", "ωμέγα", "👟", "blue\nhat"]
MATRIX = sparse.csr_array(np.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]], dtype=np.float32))


def fill(folder: FolderWriter) -> None:
    folder.json("config.json", {"model": "linear", "rates": [0.5, 1e-3], "none": None, "deep": {"on": True}})
    folder.array("counts", np.arange(5))
    folder.array("flags", np.array([[True, False], [False, True]]))
    folder.array("empty", np.empty((0, 3), dtype=np.float16))
    folder.strings("vocabulary", WORDS)
    folder.csr("features", MATRIX)
    model = folder.sub("model")
    model.tensors("weights", {"w": np.ones((2, 3), np.float32), "b": np.arange(4), "on": np.array([True])})
    model.json("shape.json", [2, 3])


def write_sample(path: Path, overwrite: bool = False) -> Path:
    with writing(path, kind="run", overwrite=overwrite) as folder:
        fill(folder)
    return path


def write_mark(path: Path, mark: str, overwrite: bool = True) -> None:
    """A smaller folder that tells who wrote it."""
    with writing(path, kind="mark", overwrite=overwrite) as folder:
        folder.sub("deep").array("numbers", np.arange(3))
        folder.json("mark.json", mark)


def mark_of(path: Path) -> str:
    folder = open_folder(path, kind="mark")
    assert folder.sub("deep").array("numbers").tolist() == [0, 1, 2]
    return folder.json("mark.json")


def load_all(path: Path) -> dict[str, Any]:
    """Everything in the sample as plain Python values, each file read in every way there is."""
    folder = open_folder(path, kind="run")
    model = folder.sub("model")
    matrix = folder.csr("features")  # never made dense: it may say that it has 2**31 columns
    return {
        "config": folder.json("config.json"),
        "shape": model.json("shape.json"),
        "arrays": {n: [folder.array(n, mmap=m).tolist() for m in (False, True)] for n in _arrays(folder)},
        "vocabulary": folder.strings("vocabulary").to_pylist(),
        "features": [matrix.shape, *(part.tolist() for part in (matrix.data, matrix.indices, matrix.indptr))],
        "weights": {name: tensor.tolist() for name, tensor in model.tensors("weights").items()},
    }


def _arrays(folder: FolderReader) -> list[str]:
    return ["counts", "empty", "flags", *(n[:-4] for n in folder.names() if n.count(".") == 2)]


def replace_file(path: Path, name: str, content: bytes) -> None:
    """Puts `content` into a file and makes the manifest right again, so that the parser meets the bytes."""
    (path / name).write_bytes(content)
    manifest = json.loads((path / "manifest.json").read_bytes())
    manifest["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (path / "manifest.json").write_text(json.dumps(manifest))


def edit_manifest(path: Path, **changes: object) -> None:
    manifest = json.loads((path / "manifest.json").read_bytes())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def assert_damaged(run: Path, *words: str) -> None:
    """Loading fails with one line that holds all `words`."""
    with pytest.raises(DamagedFolderError) as caught:
        load_all(run)
    line = str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n" not in line
    assert line.startswith(str(run))
    assert len(line) < len(str(run)) + 300
    for word in words:
        assert word in line, line


def siblings(path: Path) -> list[str]:
    """What lies beside a folder."""
    return sorted(entry.name for entry in path.parent.iterdir() if entry != path)
