"""An extension of Griffe: the doctests of docstrings stand in code blocks on the reference pages."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SESSION = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts every doctest into a block of its own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object of the package that is documented."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with each session in a code block, and without the marks that only doctest reads.

    >>> fenced("Adds.\\n\\n>>> 1 + 1    # doctest: +SKIP\\n2").splitlines()
    ['Adds.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    plain = re.sub(r"\s*# doctest: .*", "", text)
    return _SESSION.sub(lambda session: f"```pycon\n{session[0]}\n```", plain)
