"""Runs on the Hugging Face hub: `run.push_to_hub("user/name")`, `tailwright.load("hub:user/name@revision")`.

What is pushed is a run folder without a trace of where the data lay: paths become the names at their ends.
Only the files that the manifest lists are downloaded. They lie in the user's cache, are checked as those of
any folder are, and are used from there if the hub cannot be reached.
"""

from __future__ import annotations

import copy
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tailwright.data.cache import cache_folder
from tailwright.errors import InputError, quoted, require_extra
from tailwright.pretrained.quiet import quiet_downloads
from tailwright.runs.model_card import source_name, without_folders
from tailwright.settings import settings_from
from tailwright.store.errors import errors_of_writing
from tailwright.store.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from tailwright.runs.run import Run

HUB = "hub:"
_NAME = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"
_ADDRESS = re.compile(rf"{HUB}({_NAME})(?:@([\w./-]+))?", re.ASCII)
# Files of a run; what an earlier push left of them goes.
_OF_A_RUN = ["labels/*", "model/*"]


def folder_of(path: str | Path) -> Path:
    """The folder that a path names: itself, or that of a run on the hub, downloaded if need be."""
    address = str(path)
    if not address.startswith(HUB):
        return Path(path)
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise InputError(f"found {quoted(address)}", expected="hub:user/name or hub:user/name@revision")
    require_extra("hub", "a run on the hub")
    return _downloaded(match[1], match[2] or "main")


def _downloaded(name: str, revision: str) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download

    place = cache_folder() / "hub" / f"{name.replace('/', '--')}@{quote(revision, safe='')}"
    with errors_of_writing(place), _in_one_line(name, revision), quiet_downloads():
        # First, as it says which files there are, and whether this is a run at all.
        hf_hub_download(name, MANIFEST, revision=revision, local_dir=place)
        files = [MANIFEST, *read_manifest(place, "run").files]
        snapshot_download(name, revision=revision, local_dir=place, allow_patterns=files)
    return place


def push(run: Run, name: str, token: str | None, private: bool) -> str:
    """Write the run to the repository `name`, made if need be; the address by which it can be loaded."""
    if re.fullmatch(_NAME, name, re.ASCII) is None:
        raise InputError(f"found the repository {quoted(name)}", expected="user/name")
    require_extra("hub", "a run on the hub")
    from huggingface_hub import HfApi

    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run"
        without_paths(run).save(folder)
        with _in_one_line(name, "main"), quiet_downloads():
            api = HfApi(token=token)
            api.create_repo(name, private=private, exist_ok=True)
            if private and not api.model_info(name).private:
                raise InputError(f"{name} is public on the hub", expected="private=False to push to it")
            done = api.upload_folder(
                repo_id=name,
                folder_path=folder,
                commit_message=f"{run.name} over {len(run.labels):,} labels",
                delete_patterns=_OF_A_RUN,
            )
    return f"{HUB}{name}@{done.oid}"


def without_paths(run: Run) -> Run:
    """The same run, whose facts name data, encoders and other runs without the folders that they lie in."""
    model = copy.copy(run.model)
    model.settings = settings_from(type(model.settings), without_folders(asdict(model.settings)))
    return replace(
        run,
        model=model,
        data=run.data.model_copy(update={"path": source_name(run.data.path)}),
        augmentations=tuple(
            applied.model_copy(update={"settings": without_folders(applied.settings)})
            for applied in run.augmentations
        ),
        later=tuple(
            step.model_copy(
                update={
                    "run": source_name(step.run),
                    "data": step.data.model_copy(update={"path": source_name(step.data.path)}),
                }
            )
            for step in run.later
        ),
    )


@contextmanager
def _in_one_line(name: str, revision: str) -> Iterator[None]:
    """Turns what the hub and the way to it can answer into one line."""
    from huggingface_hub.errors import (  # type: ignore[attr-defined]
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        LocalEntryNotFoundError,
        RemoteEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except GatedRepoError as error:
        raise InputError(f"{name} on the hub asks for an agreement", expected="an open repository") from error
    except RepositoryNotFoundError as error:
        expected = "one that is public, or a token that may read and write it (`hf auth login`)"
        raise InputError(f"no repository {name} on the hub", expected=expected) from error
    except RevisionNotFoundError as error:
        expected = "a branch, a tag or a commit"
        raise InputError(f"no revision {revision} of {name} on the hub", expected=expected) from error
    except RemoteEntryNotFoundError as error:
        expected = "a run that `push_to_hub` wrote"
        raise InputError(f"{name} on the hub has no {MANIFEST}", expected=expected) from error
    except HfHubHTTPError as error:
        answer = " ".join(str(error).split())
        raise InputError(f"the hub refuses {name}: {answer}") from error
    except HFValidationError as error:
        raise InputError(
            f"no repository can be called {name}", expected="a name that the hub takes"
        ) from error
    except (HTTPError, LocalEntryNotFoundError, ConnectionError, TimeoutError) as error:
        expected = "access to the hub, or a run that was loaded from it before"
        raise InputError(f"{name}: the hub cannot be reached", expected=expected) from error
