"""Plots as SVG: they need no script, no network and no plotting library.

A plot stands in a page, whose style gives it other colours in the dark, or in a file of its own. It has
a title and a description for those who do not see it, and every bar says its value when it is pointed at.
"""

from __future__ import annotations

import hashlib
import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tailwright.data.text.printable import printable
from tailwright.errors import InputError
from tailwright.study.page.html import refuse_unwritable, write_page

# Drawn small on purpose: scaled down to a phone, 13 units of text are still legible.
WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 30, 46
BANDS = ("#cfe2f5", "#e6ebf0", "#f8dcc8")
SERIES = ("#9aa5b1", "#c08a3e", "#4c78a8", "#1b9e77", "#b04a7a", "#6b5fb5")
INK, GRID = "#1d2430", "#d5dae0"


@dataclass(frozen=True)
class Band:
    """A named stretch of the x axis, shaded."""

    name: str
    first: float
    last: float

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.last:
            raise ValueError(f"first must be in (0, {self.last}], got {self.first}")


class Plot:
    """A picture with a title and a description, to which shapes are added."""

    def __init__(self, title: str, description: str, height: float = HEIGHT) -> None:
        self.title, self.description, self.height = printable(title), printable(description), height
        self._shapes: list[ET.Element] = []

    def add(self, tag: str, words: str = "", /, **attributes: float | str) -> ET.Element:
        """A shape or a text; numbers are written with one decimal, and `_` in a name is a hyphen."""
        written = {
            name.replace("_", "-"): value if isinstance(value, str) else f"{value:.1f}"
            for name, value in attributes.items()
        }
        shape = ET.Element(tag, written)
        shape.text = printable(words) or None
        self._shapes.append(shape)
        return shape

    def text(self, x: float, y: float, words: str, anchor: str = "middle", **more: str) -> None:
        self.add("text", words, x=x, y=y, text_anchor=anchor, **more)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> None:
        """`kind` is grid or axis."""
        style = {"class": kind, "stroke": INK if kind == "axis" else GRID}
        style["stroke-width"] = "1.5" if kind == "axis" else "1"
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **style)

    def name_axes(self, x_label: str, y_label: str) -> None:
        self.text((LEFT + WIDTH - RIGHT) / 2, self.height - 8, x_label)
        middle = (TOP + self.height - BOTTOM) / 2
        self.text(0, 0, y_label, transform=f"translate(14 {middle:.1f}) rotate(-90)")

    def __html__(self) -> str:
        if self._shapes:
            return ET.tostring(self._svg(), encoding="unicode")
        paragraph = ET.Element("p", {"class": "nothing"})
        paragraph.text = f"{self.title}: there is nothing to draw."
        return ET.tostring(paragraph, encoding="unicode")

    def write(self, path: Path) -> None:
        """As an SVG file of its own, with its title above and a white background."""
        refuse_unwritable_picture(path)
        if not self._shapes:
            self.text(WIDTH / 2, self.height / 2, "there is nothing to draw")
        svg = self._svg()
        svg.attrib |= {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 -24 {WIDTH} {self.height + 24:g}",
            "width": f"{WIDTH * 1.5:g}",
            "height": f"{(self.height + 24) * 1.5:g}",
        }
        paper = {"y": "-24", "width": "100%", "height": "100%", "fill": "#fff"}
        svg.insert(2, ET.Element("rect", paper))
        heading = ET.SubElement(svg, "text", {"x": f"{WIDTH / 2:g}", "y": "-6", "text-anchor": "middle"})
        heading.text = self.title
        write_page(path, ET.tostring(svg, encoding="unicode"))

    def _svg(self) -> ET.Element:
        # Ids must differ between the plots of a page, and be the same whenever a plot is drawn anew.
        content = [self.title, self.description, *(ET.tostring(s, encoding="unicode") for s in self._shapes)]
        name = "plot-" + hashlib.blake2b("".join(content).encode(), digest_size=6).hexdigest()
        svg = ET.Element("svg", {"viewBox": f"0 0 {WIDTH} {self.height:g}", "role": "img"})
        svg.attrib |= {"aria-labelledby": f"{name}-t {name}-d"}
        svg.attrib |= {"font-family": "system-ui, sans-serif", "font-size": "13", "fill": INK}
        ET.SubElement(svg, "title", {"id": f"{name}-t"}).text = self.title
        ET.SubElement(svg, "desc", {"id": f"{name}-d"}).text = self.description
        svg.extend(self._shapes)
        return svg


def refuse_unwritable_picture(path: Path) -> None:
    """InputError unless an SVG file can be written at `path`; call it before long work."""
    if path.suffix.lower() != ".svg":
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".svg", path=path)
    refuse_unwritable(path)


def log_log_curve(
    ys: Sequence[float],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    bands: Sequence[Band] = (),
) -> Plot:
    """A curve through (1, ys[0]), (2, ys[1]), ... on logarithmic axes; every y must be > 0."""
    if any(y <= 0 for y in ys):
        raise ValueError(f"ys must be > 0, got {min(ys)}")
    plot = Plot(title, description)
    if not len(ys):
        return plot
    right, top, bottom = math.log10(max(len(ys), 10)), math.log10(max(*ys, 10.0)), math.log10(min(*ys, 1.0))

    def x_of(x: float) -> float:
        return LEFT + math.log10(x) / right * (WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(y) - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM)

    for number, band in enumerate(bands):
        start, end = x_of(max(band.first - 0.5, 1)), x_of(min(band.last + 0.5, len(ys)))
        fill = {"class": f"band-{number % len(BANDS)}", "fill": BANDS[number % len(BANDS)]}
        plot.add("rect", x=start, y=TOP, width=max(end - start, 1), height=HEIGHT - TOP - BOTTOM, **fill)
        plot.text((start + end) / 2, TOP - 8, band.name)
    for power in range(math.floor(right) + 1):
        plot.text(x_of(10**power), HEIGHT - BOTTOM + 18, _short(10**power))
    for power in range(math.ceil(bottom), math.floor(top) + 1):
        y = y_of(10**power)
        plot.line(LEFT, y, WIDTH - RIGHT, y)
        plot.text(LEFT - 8, y + 4, _short(10**power), "end")
    # A hundred steps a decade are finer than the line is wide; a point for each label would be megabytes.
    ranks = sorted({round(10 ** (step / 100)) for step in range(math.ceil(100 * math.log10(len(ys))) + 1)})
    ranks = [*(rank for rank in ranks if rank < len(ys)), len(ys)]
    points = [f"{x_of(rank):.1f},{y_of(ys[rank - 1]):.1f}" for rank in ranks]
    if len(points) == 1:
        plot.add("circle", cx=x_of(1), cy=y_of(ys[0]), r=4, **series_fill(2))
    else:
        stroke = {"class": "curve", "stroke": SERIES[2], "stroke-width": "2.5", "fill": "none"}
        plot.add("polyline", points=" ".join(points), **stroke)
        # The curve falls, so there is room at the top on the right.
        name = f"{y_label} by {x_label}"
        start = WIDTH - RIGHT - 12 - 7 * len(name)
        plot.add("line", x1=start - 30, y1=TOP + 14, x2=start - 6, y2=TOP + 14, **stroke)
        plot.text(start, TOP + 18, name, "start")
    plot.name_axes(x_label, y_label)
    return plot


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
) -> Plot:
    """Bars side by side: one group a name in `groups`, one bar a series; None leaves its place empty.

    `intervals` draws a line from low to high through a bar. Values may be negative. With more than one series
    a legend stands above.
    """
    intervals = intervals or {}
    for name, values in [*series.items(), *intervals.items()]:
        if len(values) != len(groups):
            raise ValueError(f"{name!r} has {len(values)} values for {len(groups)} groups")
    ends = [end for pairs in intervals.values() for pair in pairs if pair is not None for end in pair]
    known = [v for values in series.values() for v in values if v is not None]
    plot = Plot(title, description)
    if not known:
        return plot
    ticks = _ticks(min(0.0, *known, *ends), max(0.0, *known, *ends))
    low, high = ticks[0], ticks[-1]

    def y_of(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    for tick in ticks:
        plot.line(LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick), "axis" if tick == 0 else "grid")
        plot.text(LEFT - 8, y_of(tick) + 4, f"{tick:g}", "end")
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    wide = 0.8 * room / len(series)
    for place, group in enumerate(groups):
        plot.text(LEFT + room * (place + 0.5), HEIGHT - BOTTOM + 18, group)
        for number, (name, values) in enumerate(series.items()):
            value = values[place]
            if value is None:
                continue
            left, top = LEFT + room * (place + 0.1) + number * wide, min(y_of(value), y_of(0))
            height, fill = max(abs(y_of(value) - y_of(0)), 0.5), series_fill(first_colour + number)
            bar = plot.add("rect", x=left, y=top, width=wide * 0.92, height=height, **fill)
            ET.SubElement(bar, "title").text = printable(f"{name}, {group}: {value:.2f}")
            interval = intervals[name][place] if name in intervals else None
            if interval is not None:
                middle = left + wide * 0.46
                plot.line(middle, y_of(interval[0]), middle, y_of(interval[1]), "axis")
    if len(series) > 1:
        _add_legend(plot, {name: series_fill(first_colour + number) for number, name in enumerate(series)})
    plot.name_axes(x_label, y_label)
    return plot


def histogram(
    to: float,
    series: Mapping[str, Sequence[int]],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    cut: float | None = None,
    first_colour: int = 0,
) -> Plot:
    """Counts in equal steps from 0 to `to`, one series on top of the other.

    The first series is solid and those above it are pale with an outline, so that they differ without colour.
    `cut` is a value of the x axis that a line is drawn at.
    """
    plot = Plot(title, description)
    heights = [sum(counts) for counts in zip(*series.values(), strict=True)]
    if not any(heights):
        return plot
    ticks, steps = _ticks(0.0, max(*heights, 5.0)), len(heights)
    room = (WIDTH - LEFT - RIGHT) / steps

    def x_of(value: float) -> float:
        return LEFT + value / to * (WIDTH - LEFT - RIGHT)

    def y_of(count: float) -> float:
        return HEIGHT - BOTTOM - count / ticks[-1] * (HEIGHT - TOP - BOTTOM)

    for tick in ticks:
        plot.line(LEFT, y_of(tick), WIDTH - RIGHT, y_of(tick), "axis" if tick == 0 else "grid")
        plot.text(LEFT - 8, y_of(tick) + 4, _short(tick), "end")
    fills = {
        name: series_fill(first_colour + number) if number == 0 else _pale(first_colour + number)
        for number, name in enumerate(series)
    }
    for step in range(steps):
        start, end = to * step / steps, to * (step + 1) / steps
        if step % 2 == 0:  # more of them would run into each other
            plot.text(x_of(start), HEIGHT - BOTTOM + 18, f"{start:.2f}")
        below = 0
        for name, counts in series.items():
            if not counts[step]:
                continue
            top = min(y_of(below + counts[step]), y_of(below) - 0.5)
            left, wide = x_of(start) + 0.04 * room, 0.92 * room
            bar = plot.add("rect", x=left, y=top, width=wide, height=y_of(below) - top, **fills[name])
            said = f"{name}, {start:.2f} to {end:.2f}: {counts[step]:,}"
            ET.SubElement(bar, "title").text = printable(said)
            below += counts[step]
    plot.text(WIDTH - 2, HEIGHT - BOTTOM + 18, f"{to:.2f}", "end")
    legend_end = _add_legend(plot, fills)
    if cut is not None:
        plot.line(x_of(cut), TOP, x_of(cut), HEIGHT - BOTTOM, "axis")
        plot.line(legend_end + 5, 4, legend_end + 5, 19, "axis")
        plot.text(legend_end + 16, 16, f"cut at {cut:.3f}", "start")
    plot.name_axes(x_label, y_label)
    return plot


def series_fill(number: int) -> dict[str, str]:
    """The colour of a series: by itself, and by the name that the page's style knows."""
    place = number % len(SERIES)
    return {"class": f"series-{place}", "fill": SERIES[place]}


def _pale(number: int) -> dict[str, str]:
    """The colour of a series, pale, with an outline."""
    fill = series_fill(number)
    return {**fill, "class": f"{fill['class']} outline", "fill-opacity": "0.3", "stroke": INK}


def _add_legend(plot: Plot, fills: Mapping[str, dict[str, str]]) -> float:
    """The name of each series beside its colour, above the plot; gives the x where there is room again."""
    x = float(LEFT)
    for name, fill in fills.items():
        plot.add("rect", x=x, y=6, width=11, height=11, **fill)
        plot.text(x + 16, 16, name, "start")
        x += 32 + 7 * len(name)
    return x


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
    """1000 -> "1,000", 10000 -> "10k", 1000000 -> "1M": what fits under or beside a tick."""
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number / 1e3:g}k" if number >= 1e4 else f"{number:,g}"
