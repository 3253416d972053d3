"""`quiet_libraries`: no output or warnings from the libraries that load weights."""

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
