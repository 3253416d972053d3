"""Texts as a page or a terminal can show them: signs that would steer it are replaced."""

from __future__ import annotations

import re

# Neither HTML nor XML has a place for these, escaped or not; a terminal takes some of them for commands.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""A text with a replacement character for each sign that a page cannot hold.

    >>> printable("a\x1bb") == "a\N{REPLACEMENT CHARACTER}b"
    True
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
