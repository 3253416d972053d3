"""Commands that take one run or several: which arguments are runs, and what these say together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwright.runs import Ensemble, Run


def is_run(argument: str) -> bool:
    """Whether an argument names a run: a folder with a manifest."""
    try:
        return (Path(argument) / "manifest.json").is_file()
    except (OSError, ValueError):  # a text may be longer than a path can be
        return False


def split_runs(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The runs that the arguments begin with, and the texts after them; the first is a run in any case."""
    count = 1
    while count < len(arguments) and is_run(arguments[count]):
        count += 1
    return [Path(argument) for argument in arguments[:count]], list(arguments[count:])


def loaded(folders: Sequence[Path]) -> Run | Ensemble:
    """The run in the folder, or the ensemble of those in several."""
    import tailwright as tw
    from tailwright.runs import Ensemble

    runs = tuple(tw.load(folder) for folder in folders)
    return runs[0] if len(runs) == 1 else Ensemble(runs)


def named(folders: Sequence[Path]) -> dict[str, Any]:
    """How a result says which runs it is of: `run` for one, `runs` for several."""
    return {"run": str(folders[0])} if len(folders) == 1 else {"runs": [str(folder) for folder in folders]}
