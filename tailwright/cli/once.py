"""`Command`: a command whose options are refused where one that takes one value is given twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperOption

from tailwright.errors import InputError


class Command(TyperCommand):
    """Typer takes the last of them without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's, but for what is given twice, which is an InputError."""
        *_, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, times in Counter(given).items():
            takes_one = isinstance(parameter, TyperOption) and not (parameter.is_flag or parameter.multiple)
            if takes_one and times > 1:
                raise InputError(f"{parameter.opts[0]} is given {times} times", expected="it once")
        return super().parse_args(ctx, args)
