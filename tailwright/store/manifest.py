"""`manifest.json`: what a folder is, which version of the format it has, and the sha256 of each file.

Also the names that its files may have, and the path of a file that is certainly inside the folder.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tailwright import __version__
from tailwright.errors import InputError, quoted
from tailwright.store import strict_json
from tailwright.store.errors import DamagedFolderError, errors_of_reading

FORMAT_VERSION = 2
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 16 << 20

_OURS = re.compile(rb'\s*\{\s*"format"\s*:\s*"tailwright"')
# One rule for every system: no "..", hidden file, absolute path, drive, backslash, NUL or Unicode form.
_STEP = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,199}"
_NAME = re.compile(rf"{_STEP}(?:/{_STEP}){{0,15}}")


def check_name(name: str) -> str:
    """`name` itself, or ValueError.

    >>> check_name("model/weights.safetensors")
    'model/weights.safetensors'
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError("a file name must be relative, of letters, digits and . _ + - between slashes")
    return name


Kind = Annotated[str, Field(pattern="^[a-z][a-z0-9_-]{0,39}$")]
Name = Annotated[str, AfterValidator(check_name)]


class FileEntry(BaseModel):
    """Size and hash of one file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Manifest(BaseModel):
    """The whole of `manifest.json`. Unknown keys, as of another version, are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal["tailwright"] = "tailwright"
    version: int = Field(default=FORMAT_VERSION, ge=FORMAT_VERSION, le=FORMAT_VERSION)
    kind: Kind
    made_by: str = Field(default=f"tailwright {__version__}", max_length=200)
    files: dict[Name, FileEntry]

    def encode(self) -> bytes:
        return strict_json.encode(self.model_dump())


def read_manifest(folder: Path, kind: str) -> Manifest:
    """The manifest of a folder of the given kind; `DamagedFolderError` for anything else."""
    path = folder / MANIFEST
    with errors_of_reading(folder):
        if not folder.is_dir():
            raise DamagedFolderError(_instead_of(folder), expected=f"a {kind} folder", path=folder)
        if all(file.name != MANIFEST for file in folder.iterdir()):
            raise DamagedFolderError(f"has no {MANIFEST}", expected=f"a {kind} folder", path=folder)
    file_inside(folder, MANIFEST)
    with errors_of_reading(path), path.open("rb") as file:
        raw = file.read(MAX_MANIFEST_BYTES + 1)
    if len(raw) > MAX_MANIFEST_BYTES:
        raise DamagedFolderError(f"more than {MAX_MANIFEST_BYTES} bytes", expected="a manifest", path=path)
    manifest = _parse(raw, path)
    if manifest.kind != kind:
        raise DamagedFolderError(f"a {manifest.kind} folder", expected=f"a {kind} folder", path=folder)
    return manifest


def _instead_of(folder: Path) -> str:
    """What there is at a path that is no folder."""
    if folder.exists():
        return "is a file"
    aside = aside_of(folder)
    return f"does not exist, but {aside} does: rename it back" if is_ours(aside) else "does not exist"


def is_ours(folder: Path) -> bool:
    """Whether `folder` has a manifest that begins like ours; a damaged folder of ours may be replaced."""
    try:
        path, _ = file_inside(folder, MANIFEST)
        with path.open("rb") as file:
            return _OURS.match(file.read(1024)) is not None
    except (InputError, OSError):
        return False


def first_problem(error: ValidationError) -> str:
    """The first validation error, in one line: where, what was found, why it is wrong."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = " in ".join(quoted(key) for key in reversed(first["loc"]))
    return f"{where}{': ' if where else ''}{quoted(first['input'])} ({first['msg']})"


def _parse(raw: bytes, path: Path) -> Manifest:
    try:
        content = strict_json.decode(raw)
    except ValueError as error:
        raise DamagedFolderError(f"not JSON ({error})", expected="a manifest", path=path) from error
    _check_version(content, path)
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        raise DamagedFolderError(first_problem(error), expected="a manifest", path=path) from error


def _check_version(content: object, path: Path) -> None:
    """Checked before anything else: another version may have other fields."""
    if not isinstance(content, dict) or content.get("format") != "tailwright":
        return
    version = content.get("version")
    if type(version) is not int or version == FORMAT_VERSION:
        return
    problem, advice = f"format version {quoted(version)}", "upgrade tailwright"
    if version < FORMAT_VERSION:
        problem += ", which an earlier version of tailwright wrote"
        advice = "train the run again" if content.get("kind") == "run" else "make the folder again"
    raise DamagedFolderError(problem, expected=f"version {FORMAT_VERSION}; {advice}", path=path)


def aside_of(folder: Path) -> Path:
    """Where an old folder is set aside, on disks that cannot exchange two folders in one step."""
    return folder.parent / f".{folder.name}.previous"


def file_inside(folder: Path, name: str) -> tuple[Path, int]:
    """The path and size of the regular file `name`; links are refused, so it cannot lie elsewhere."""
    path = shown = folder / name
    steps = name.split("/")
    for depth in range(1, len(steps) + 1):
        path = folder.joinpath(*steps[:depth])
        with errors_of_reading(shown):
            info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise DamagedFolderError("is a symbolic link", expected="a file inside the folder", path=path)
    if not stat.S_ISREG(info.st_mode):
        raise DamagedFolderError("is not a regular file", expected="a file inside the folder", path=path)
    return path, info.st_size
