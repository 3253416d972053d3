"""Settings: what can be set of a method, each declared once, on its field.

    @dataclass(frozen=True)
    class LinearSettings(Settings):
        trees: int = setting(3, "how many trees are averaged", least=1)
        forest: ForestSettings = setting(ForestSettings(), "the shape of a tree")

The type, the default, the bounds and one sentence stand on the field. A value is checked when the settings
are made; `settings_from` fills them from text or TOML, `settings_table` lists them for `tailwright models
NAME`. Settings of a part nest: `forest.depth=2` sets one, and so does `depth=2` if no other has that name.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tailwright.errors import InputError, quoted
from tailwright.registry import unknown

_NAME_OF_TYPE = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}

LARGEST = 2**31 - 1  # of any number, above or below 0: kernels count in 32 bits
SMALLEST = sys.float_info.min  # of any that is not 0: smaller ones, denormal, count as 0 while torch works

AnySettings = TypeVar("AnySettings")


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Where a number may lie; None: no bound on that side but `LARGEST`.

    >>> str(Bounds(above=0, most=1)), str(Bounds(least=1)), str(Bounds(below=3))
    ('in (0, 1]', '>= 1', '< 3')
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def __contains__(self, value: float) -> bool:
        """NaN, infinity and denormal numbers are outside of every bound."""
        return (value == 0 or SMALLEST <= abs(value) <= LARGEST) and self.allow(value)

    def allow(self, value: float) -> bool:
        """Whether the value is between the bounds that are given."""
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        low = f"[{self.least}" if self.least is not None else f"({self.above}"
        high = f"{self.most}]" if self.most is not None else f"{self.below})"
        if "None" not in low and "None" not in high:
            return f"in {low}, {high}"
        sides = ((">=", self.least), (">", self.above), ("<=", self.most), ("<", self.below))
        return next((f"{sign} {bound}" for sign, bound in sides if bound is not None), "a finite number")


def setting(default: Any, meaning: str, **bounds: float) -> Any:
    """A field of settings: its default, one sentence, and the `Bounds` of a number or of each of several."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "bounds": Bounds(**bounds)})


class Settings:
    """The base of all settings, which are frozen dataclasses: it checks bounds and choices of every field."""

    def __post_init__(self) -> None:
        hints = _hints(self)
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            _check_field(field, getattr(self, field.name), hints[field.name])
        self.check()

    def check(self) -> None:
        """What several settings must be together; a ValueError names them."""


_hints_of_type = functools.cache(typing.get_type_hints)  # longer to find than all checks take together


def _hints(settings: Any) -> dict[str, Any]:
    """The types of the fields of settings."""
    kind: Any = type(settings)
    return _hints_of_type(kind)


def _check_field(field: dataclasses.Field[Any], value: Any, hint: Any) -> None:
    """A ValueError for a value of the wrong type, a number out of bounds, or a word that is no choice."""
    or_none = " or none" if type(None) in _kinds(hint) else ""
    choices = [choice for kind in _kinds(hint) for choice in _choices(kind)]
    bounds: Bounds = field.metadata.get("bounds", Bounds())
    for one in value if isinstance(value, tuple) else (value,):
        if not _fits(one, _kinds(hint)):
            expected = " or ".join(_NAME_OF_TYPE[kind] for kind in _kinds(hint) if kind in _NAME_OF_TYPE)
            raise ValueError(f"{field.name} must be {expected}{or_none}, got {one!r}")
        if isinstance(one, str) and choices and one not in choices:
            raise ValueError(f"{field.name} must be one of {', '.join(map(str, choices))}, got {one!r}")
        is_number = isinstance(one, numbers.Real) and not isinstance(one, bool)
        if is_number and one not in bounds:
            shown = quoted(list(value) if isinstance(value, tuple) else value)
            size = ""
            if bounds.allow(one) and LARGEST < abs(one) < math.inf:
                size = f" and at most {LARGEST:,} in size"
            elif bounds.allow(one) and abs(one) < SMALLEST:
                size = f" and at least {SMALLEST:.3g} in size"
            raise ValueError(f"{field.name} must be {_takes(field, hint) or bounds}{size}, got {shown}")


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value has one of these types; types other than numbers, text and none are not judged."""
    if not all(kind in _NAME_OF_TYPE or kind is type(None) for kind in kinds):
        return True
    if isinstance(value, bool) or value is None:
        return type(value) in kinds
    abstract = {int: numbers.Integral, float: numbers.Real}
    return any(isinstance(value, abstract.get(kind, kind)) for kind in kinds if kind is not bool)


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types that a field may have."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        return typing.get_args(hint)
    return (typing.get_args(hint)[0],) if typing.get_origin(hint) is tuple else (hint,)


def _choices(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()


@dataclasses.dataclass(frozen=True)
class NoSettings(Settings):
    """Of a method that has nothing to set."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """One setting: its name, with a dot where it is within another, its default, meaning and values.

    `takes` says which values it takes where the default does not: bounds, choices, "or none".
    """

    name: str
    default: Any
    meaning: str
    takes: str = ""


def settings_table(kind: type) -> list[Setting]:
    """Every setting of `kind`, in the order in which they are declared.

    Where two groups have a setting of the same meaning, each says which group it is of.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example(Settings):
    ...     trees: int = setting(3, "how many are averaged", least=1)
    >>> settings_table(Example)
    [Setting(name='trees', default=3, meaning='how many are averaged', takes='>= 1')]
    """
    settings = kind()
    listed = list(_listed(settings, ""))
    times = Counter(one.meaning for one in listed)
    return [
        dataclasses.replace(one, meaning=f"{one.meaning} ({_group_meaning(settings, one.name)})")
        if times[one.meaning] > 1 and "." in one.name
        else one
        for one in listed
    ]


def _group_meaning(settings: Any, name: str) -> str:
    """What the group that a setting is within stands for."""
    *groups, group, _ = name.split(".")
    for outer in groups:
        settings = getattr(settings, outer)
    (field,) = (field for field in dataclasses.fields(settings) if field.name == group)
    return str(field.metadata.get("meaning", group))


def _listed(settings: Any, prefix: str) -> Iterator[Setting]:
    hints = _hints(settings)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from _listed(value, f"{prefix}{field.name}.")
        else:
            meaning = field.metadata.get("meaning", "")
            yield Setting(f"{prefix}{field.name}", value, meaning, _takes(field, hints[field.name]))


def _takes(field: dataclasses.Field[Any], hint: Any) -> str:
    """Which values a field takes, in words; empty where any of its type will do."""
    kinds = _kinds(hint)
    words = [str(choice) for kind in kinds for choice in _choices(kind)]
    bounds = field.metadata.get("bounds", Bounds())
    if bounds != Bounds():
        words.append(str(bounds))
    if type(None) in kinds:
        words.append("none")
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def settings_from(kind: type[AnySettings], values: Mapping[str, Any]) -> AnySettings:
    """The settings `kind` with some of them changed; values may be text, as from a command line.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example(Settings):
    ...     trees: int = setting(3, "how many are averaged", least=1)
    >>> settings_from(Example, {"trees": "5"})
    Example(trees=5)
    >>> settings_from(Example, {"tree": 5})
    Traceback (most recent call last):
    tailwright.errors.InputError: unknown setting 'tree'; did you mean 'trees'?
    >>> settings_from(Example, {"trees": 0})
    Traceback (most recent call last):
    tailwright.errors.InputError: trees must be >= 1, got 0
    """
    return _changed(kind(), values)


def _changed(settings: AnySettings, values: Mapping[str, Any]) -> AnySettings:
    """The same settings but for `values`, by name; a table changes settings within settings."""
    hints = _hints(settings)
    names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
    new: dict[str, Any] = {}
    within: dict[str, dict[str, Any]] = {}
    for given, value in values.items():
        name, _, inner = _path(settings, given).partition(".")
        if name not in names:
            inner_names = [one.name.rpartition(".")[2] for one in _listed(settings, "") if "." in one.name]
            raise InputError(unknown("setting", given, [*names, *inner_names]))
        if inner and not dataclasses.is_dataclass(hints[name]):
            raise InputError(unknown("setting", given, names))
        if inner:
            within.setdefault(name, {})[inner] = value
        elif not dataclasses.is_dataclass(hints[name]):
            new[name] = converted(name, value, hints[name])
        elif isinstance(value, Mapping):
            within.setdefault(name, {}).update(value)
        else:
            raise _wrong(name, value, f"{name}.NAME=VALUE")
    for name, inside in within.items():
        new[name] = _changed(getattr(settings, name), inside)
    try:
        return dataclasses.replace(settings, **new)  # type: ignore[type-var]
    except ValueError as error:
        raise InputError(str(error)) from error


def _path(settings: Any, name: str) -> str:
    """The whole name of a setting: itself where there is such a field, else the only one that ends so."""
    first = name.partition(".")[0]
    if any(field.name == first for field in dataclasses.fields(settings)):
        return name
    ending_so = [one.name for one in _listed(settings, "") if one.name.endswith(f".{name}")]
    if len(ending_so) > 1:
        raise InputError(f"setting {name} is one of several", expected=" or ".join(ending_so))
    return ending_so[0] if ending_so else name


def converted(name: str, value: Any, kind: Any) -> Any:
    """`value` as the type that a field asks for; an InputError names the field."""
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        options = typing.get_args(kind)
        if type(None) in options and (value is None or value == "none"):
            return None
        return _first_that_fits(name, value, [option for option in options if option is not type(None)])
    if kind is bool:
        if str(value).lower() in {"true", "false", "on", "off"}:
            return str(value).lower() in {"true", "on"}
        raise _wrong(name, value, _NAME_OF_TYPE[bool])
    if typing.get_origin(kind) is typing.Literal:
        if value in typing.get_args(kind):
            return value
        raise _wrong(name, value, f"one of {', '.join(map(str, typing.get_args(kind)))}")
    if typing.get_origin(kind) is tuple:
        items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            raise _wrong(name, value, "a list")
        return tuple(converted(name, item, typing.get_args(kind)[0]) for item in items if item != "")
    expected = _NAME_OF_TYPE[kind]
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
