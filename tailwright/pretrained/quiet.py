"""`quiet_libraries`, `quiet_downloads`: no output or warnings from the libraries that load weights."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence transformers inside the block, apart from errors."""
    from transformers.utils import logging as lines

    level, bars = lines.get_verbosity(), lines.is_progress_bar_enabled()
    lines.set_verbosity(logging.CRITICAL)
    lines.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        lines.set_verbosity(level)
        if bars:
            lines.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def quiet_downloads() -> Iterator[None]:
    """No progress bars of huggingface_hub inside the block."""
    from huggingface_hub import utils as bars

    were_quiet = bars.are_progress_bars_disabled()  # type: ignore[attr-defined]
    bars.disable_progress_bars()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if not were_quiet:
            bars.enable_progress_bars()  # type: ignore[attr-defined]
