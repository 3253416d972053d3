"""Plots as strings of SVG, for pages that need neither a network nor a plotting library.

Colours are CSS variables with fallbacks, so a page can give them another value in the dark; every plot has a
title and a description for those who do not see it, and every bar says its value when it is pointed at.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailwright.evaluation.page import escaped

# Drawn small on purpose: scaled down to a phone, 13 units of text are still to be read.
WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 46
BANDS = ("#cfe2f5", "#e6ebf0", "#f8dcc8")
SERIES = ("#9aa5b1", "#c08a3e", "#4c78a8", "#1b9e77", "#b04a7a", "#6b5fb5")


@dataclass(frozen=True)
class Band:
    """A named stretch of the x axis, shaded."""

    name: str
    first: float
    last: float

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.last:
            raise ValueError(f"first must be in (0, {self.last}], got {self.first}")


def log_log_curve(
    ys: Sequence[float],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    bands: Sequence[Band] = (),
) -> str:
    """A curve through (1, ys[0]), (2, ys[1]), ... on logarithmic axes; every y must be > 0."""
    if any(y <= 0 for y in ys):
        raise ValueError(f"ys must be > 0, got {min(ys)}")
    if not len(ys):
        return nothing(title)
    right, top, bottom = math.log10(max(len(ys), 10)), math.log10(max(*ys, 10.0)), math.log10(min(*ys, 1.0))

    def x_of(x: float) -> float:
        return LEFT + math.log10(x) / right * (WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(y) - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    parts = []
    for number, band in enumerate(bands):
        start, end = x_of(max(band.first - 0.5, 1)), x_of(min(band.last + 0.5, len(ys)))
        parts.append(
            f'<rect x="{start:.1f}" y="{TOP}" width="{max(end - start, 1):.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" style="fill:{_band(number)}"/>'
            + _text((start + end) / 2, TOP - 8, band.name, "middle")
        )
    parts += [
        _text(x_of(10**power), HEIGHT - BOTTOM + 18, _short(10**power), "middle")
        for power in range(math.floor(right) + 1)
    ]
    for power in range(math.ceil(bottom), math.floor(top) + 1):
        y = y_of(10**power)
        parts += [_line(LEFT, y, WIDTH - RIGHT, y, "grid"), _text(LEFT - 8, y + 4, _short(10**power), "end")]
    # A hundred steps a decade are finer than the line is wide; a point for each label would be megabytes.
    ranks = sorted({round(10 ** (step / 100)) for step in range(math.ceil(100 * math.log10(len(ys))) + 1)})
    ranks = [*(rank for rank in ranks if rank < len(ys)), len(ys)]
    points = " ".join(f"{x_of(rank):.1f},{y_of(ys[rank - 1]):.1f}" for rank in ranks)
    colour = f"var(--series-2,{SERIES[2]})"
    if len(ranks) == 1:
        parts.append(f'<circle cx="{x_of(1):.1f}" cy="{y_of(ys[0]):.1f}" r="4" style="fill:{colour}"/>')
    else:
        parts.append(f'<polyline points="{points}" style="fill:none;stroke:{colour};stroke-width:2.5"/>')
    return _figure(parts, title, description, x_label, y_label)


def bars(
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    intervals: Mapping[str, Sequence[tuple[float, float] | None]] | None = None,
    first_colour: int = 0,
) -> str:
    """Bars side by side: one group a name in `groups`, one bar a series; None leaves its place empty.

    `intervals` draws a line from low to high through a bar. Values may be negative. With more than one series
    a legend stands above.
    """
    for name, values in [*series.items(), *(intervals or {}).items()]:
        if len(values) != len(groups):
            raise ValueError(f"{name!r} has {len(values)} values for {len(groups)} groups")
    ends = [e for values in (intervals or {}).values() for pair in values if pair is not None for e in pair]
    known = [v for values in series.values() for v in values if v is not None]
    if not known:
        return nothing(title)
    ticks = _ticks(min(0.0, *known, *ends), max(0.0, *known, *ends))
    low, high = ticks[0], ticks[-1]

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = []
    for tick in ticks:
        parts.append(_line(LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick), "axis" if tick == 0 else "grid"))
        parts.append(_text(LEFT - 8, y_of(tick) + 4, f"{tick:g}", "end"))
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    wide = 0.8 * room / len(series)
    for place, group in enumerate(groups):
        start = LEFT + room * (place + 0.1)
        parts.append(_text(LEFT + room * (place + 0.5), HEIGHT - BOTTOM + 18, group, "middle"))
        for number, (name, values) in enumerate(series.items()):
            value = values[place]
            if value is None:
                continue
            colour = _colour(first_colour + number)
            left, top = start + number * wide, min(y_of(value), y_of(0))
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide * 0.92:.1f}" '
                f'height="{max(abs(y_of(value) - y_of(0)), 0.5):.1f}" style="fill:{colour}">'
                f"<title>{escaped(name)}, {escaped(group)}: {value:.2f}</title></rect>"
            )
            pair = (intervals or {}).get(name, [None] * len(groups))[place]
            if pair is not None:
                middle = left + wide * 0.46
                parts.append(_line(middle, y_of(pair[0]), middle, y_of(pair[1]), "whisker"))
    if len(series) > 1:
        parts += _legend(list(series), first_colour)
    return _figure(parts, title, description, x_label, y_label)


def nothing(title: str) -> str:
    """What stands in the place of a plot without data."""
    return f'<p class="nothing">{escaped(title)}: there is nothing to draw.</p>'


def _figure(parts: Sequence[str], title: str, description: str, x_label: str, y_label: str) -> str:
    across = (LEFT + WIDTH - RIGHT) / 2
    drawn = "".join(parts)
    # Ids must differ between the plots of a page, and be the same whenever a plot is drawn anew.
    name = "plot-" + hashlib.blake2b(f"{title}{description}{drawn}".encode(), digest_size=6).hexdigest()
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escaped(title)}</title><desc id="{name}-d">{escaped(description)}</desc>'
        + drawn
        + _text(across, HEIGHT - 8, x_label, "middle")
        + f'<g transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">'
        + _text(0, 0, y_label, "middle")
        + "</g></svg>"
    )


def _legend(names: Sequence[str], first_colour: int) -> list[str]:
    parts, x = [], float(LEFT)
    for number, name in enumerate(names):
        parts.append(
            f'<rect x="{x:.0f}" y="6" width="11" height="11" style="fill:{_colour(first_colour + number)}"/>'
            + _text(x + 16, 16, name, "start")
        )
        x += 32 + 7 * len(name)
    return parts


def _colour(number: int) -> str:
    place = number % len(SERIES)
    return f"var(--series-{place},{SERIES[place]})"


def _band(number: int) -> str:
    place = number % len(BANDS)
    return f"var(--band-{place},{BANDS[place]})"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    style = "font:13px system-ui,sans-serif;fill:var(--ink,#222)"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}">{escaped(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    ink = {"grid": "var(--grid,#8885)", "axis": "var(--ink,#222)", "whisker": "var(--ink,#222)"}[kind]
    width = 1.5 if kind == "whisker" else 1
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} style="stroke:{ink};stroke-width:{width}"/>'


def _ticks(low: float, high: float) -> list[float]:
    """Five or so round numbers that reach from at most `low` to at least `high`.

    >>> _ticks(0, 87)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    >>> _ticks(-3.2, 1.5)
    [-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0]
    """
    if low == high:
        return [0, 1]
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if rough <= factor * power * (1 + 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]


def _short(number: float) -> str:
    """1000 -> "1,000", 1000000 -> "1M": what fits under a tick."""
    return f"{number / 1e6:g}M" if number >= 1e6 else f"{number:,g}"
