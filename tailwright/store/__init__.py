"""The safe folder: data files only, a manifest with their sha256, all or nothing on disk.

Runs, caches and checkpoints are kept in such folders. A folder holds JSON, npy and safetensors files, perhaps
a README.md for people, and a `manifest.json`; it is written beside its place and renamed into it, and every
byte is treated as hostile when it is read back.

>>> import tempfile, numpy as np
>>> from pathlib import Path
>>> place = Path(tempfile.mkdtemp()) / "run"
>>> with writing(place, kind="run") as folder:
...     folder.json("config.json", {"model": "linear"})
...     folder.sub("model").array("counts", np.arange(3))
>>> folder = open_folder(place, kind="run")
>>> folder.names()
['config.json', 'model/counts.npy']
>>> folder.sub("model").array("counts", dtype=np.int64, shape=(None,)).tolist()
[0, 1, 2]
"""

from tailwright.store.errors import DamagedFolderError
from tailwright.store.reader import FolderReader, open_folder
from tailwright.store.writer import FolderWriter, writing

__all__ = ["DamagedFolderError", "FolderReader", "FolderWriter", "open_folder", "writing"]
