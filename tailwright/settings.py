"""Settings by name: the frozen dataclasses of models and augmenters, filled from text and checked by type."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown

Settings = TypeVar("Settings")


@dataclasses.dataclass(frozen=True)
class NoSettings:
    """Of a method that has nothing to set."""


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
