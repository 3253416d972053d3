"""A safe folder that travels as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tailwright.errors import InputError
from tailwright.store import DamagedFolderError, open_folder, writing
from tailwright.store.sending import folder_as_bytes, write_bytes_as_folder


@pytest.fixture
def sent(tmp_path) -> dict[str, np.ndarray]:
    with writing(tmp_path / "here", kind="part") as folder:
        folder.json("config.json", {"a": 1})
        folder.sub("model").array("counts", np.arange(3))
        folder.array("none", np.empty(0))
    return folder_as_bytes(tmp_path / "here", "part")


def test_a_folder_arrives_as_it_was(sent, tmp_path):
    write_bytes_as_folder(sent, tmp_path / "there")
    folder = open_folder(tmp_path / "there", kind="part")
    assert folder.json("config.json") == {"a": 1}
    assert folder.sub("model").array("counts").tolist() == [0, 1, 2]


def test_it_replaces_a_folder_of_ours_and_no_other(sent, tmp_path):
    with writing(tmp_path / "there", kind="part") as folder:
        folder.json("config.json", {"a": 2})
    write_bytes_as_folder(sent, tmp_path / "there")
    assert open_folder(tmp_path / "there", kind="part").json("config.json") == {"a": 1}
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "notes.txt").touch()
    with pytest.raises(InputError, match="is no tailwright folder"):
        write_bytes_as_folder(sent, tmp_path / "theirs")


def test_a_byte_that_changed_on_the_way_is_found(sent, tmp_path):
    changed = {**sent, "config.json": sent["config.json"].copy()}
    changed["config.json"][0] ^= 1
    write_bytes_as_folder(changed, tmp_path / "there")
    with pytest.raises(DamagedFolderError):
        open_folder(tmp_path / "there", kind="part")


def test_a_name_that_leads_out_of_the_folder_is_refused(sent, tmp_path):
    with pytest.raises(ValueError, match="a file name must be relative"):
        write_bytes_as_folder({"../outside": sent["config.json"]}, tmp_path / "there")
    assert not (tmp_path / "there").exists()
