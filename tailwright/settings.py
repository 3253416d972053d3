"""Settings by name: the frozen dataclasses of models and augmenters, filled from text and checked by type.

The docstring of such a class has a table that says what each setting means; a line may name several. A class
says it of its own, and of those of its bases that mean something else in it. `settings_table` reads them.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown

Settings = TypeVar("Settings")

_MEANING = re.compile(r"^\s*\| (`[^|]*`) \| (.*) \|\s*$", re.MULTILINE)
_NAME = re.compile(r"`([a-z_]+)`")


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """Of a method that has nothing to set."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting: its name, with a dot where it is within another, its default and its meaning."""

    name: str
    default: Any
    meaning: str


def settings_table(kind: type) -> list[Setting]:
    """Every setting of the dataclass `kind`, in the order in which they are declared.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example:
    ...     '''| `trees` | how many are averaged |'''
    ...     trees: int = 3
    >>> settings_table(Example)
    [Setting(name='trees', default=3, meaning='how many are averaged')]
    """
    return list(_told(kind(), ""))


def _told(settings: Any, prefix: str) -> Iterator[Setting]:
    meanings = {
        name: meaning
        for base in reversed(type(settings).__mro__)
        for names, meaning in _MEANING.findall(base.__dict__.get("__doc__") or "")
        for name in _NAME.findall(names)
    }
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from _told(value, f"{prefix}{field.name}.")
        else:
            yield Setting(f"{prefix}{field.name}", value, meanings.get(field.name, ""))


def settings_from(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """The dataclass `kind` with some fields set; values may be text, as from a command line.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example:
    ...     trees: int = 3
    >>> settings_from(Example, {"trees": "5"})
    Example(trees=5)
    >>> settings_from(Example, {"tree": 5})
    Traceback (most recent call last):
    tailwright.errors.InputError: unknown setting 'tree'; did you mean 'trees'?
    """
    return _changed(kind(), values)


def _changed(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """The same settings but for `values`; a table of values changes settings within settings."""
    hints = typing.get_type_hints(type(settings))
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    new = {}
    for name, value in values.items():
        if name not in names:
            raise InputError(unknown("setting", name, names))
        if dataclasses.is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise _wrong(name, value, f"{name}.NAME=VALUE")
            new[name] = _changed(getattr(settings, name), value)
        else:
            new[name] = converted(name, value, hints[name])
    try:
        return dataclasses.replace(settings, **new)  # type: ignore[type-var]
    except ValueError as error:
        raise InputError(str(error)) from error


def converted(name: str, value: Any, kind: Any) -> Any:
    """`value` as the type that a field asks for; an InputError names the field."""
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        options = typing.get_args(kind)
        if type(None) in options and (value is None or value == "none"):
            return None
        return _first_that_fits(name, value, [option for option in options if option is not type(None)])
    if kind is bool:
        if isinstance(value, bool):
            return value
        if str(value).lower() in {"true", "false"}:
            return str(value).lower() == "true"
        raise _wrong(name, value, "true or false")
    if typing.get_origin(kind) is typing.Literal:
        if value in typing.get_args(kind):
            return value
        raise _wrong(name, value, f"one of {', '.join(map(str, typing.get_args(kind)))}")
    if typing.get_origin(kind) is tuple:
        items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            raise _wrong(name, value, "a list")
        return tuple(converted(name, item, typing.get_args(kind)[0]) for item in items if item != "")
    expected = {int: "a whole number", float: "a number", str: "text"}[kind]
    if isinstance(value, bool) or (kind is str and not isinstance(value, str)):
        raise _wrong(name, value, expected)
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(name, value, expected) from None
    if kind is int and isinstance(value, float) and number != value:
        raise _wrong(name, value, expected)
    return number


def _first_that_fits(name: str, value: Any, kinds: list[Any]) -> Any:
    """`value` as the first of these types that takes it; the error says what each expects."""
    first, *others = kinds
    try:
        return converted(name, value, first)
    except InputError as refused:
        if not others:
            raise
        expected = refused.expected
    try:
        return _first_that_fits(name, value, others)
    except InputError as refused:
        raise _wrong(name, value, f"{expected} or {refused.expected}") from None


def _wrong(name: str, value: Any, expected: str) -> InputError:
    return InputError(f"setting {name}: found {quoted(value)}", expected=expected)
