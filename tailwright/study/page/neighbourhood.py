"""A label and its neighbours as a small graph, drawn as the other plots are: SVG, or a page around it."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailwright.data.text.printable import printable
from tailwright.errors import InputError
from tailwright.study.page import short
from tailwright.study.page.html import refuse_unwritable, render, write_page
from tailwright.study.page.svg import GRID, SERIES, WIDTH, Plot, series_fill

HEIGHT = 440
_CENTRE = (WIDTH / 2, 236.0)
_RADII = (128.0, 150.0)  # of the ring of neighbours
_LONGEST_NAME = 17  # beside a node; the whole name is seen on pointing at it
_WIDEST = 7.0  # line of a soft target of 1


@dataclass(frozen=True)
class Node:
    """A neighbour of the label in the middle: its name, its soft target, and its training rows."""

    name: str
    target: float
    rows: int

    @property
    def said(self) -> str:
        return f"{self.name}: soft target {self.target:.2f}, {self.rows:,} training rows"


def neighbourhood(
    name: str, nodes: Sequence[Node], pairs: Sequence[tuple[int, int]], *, description: str
) -> Plot:
    """The label `name` in the middle and its neighbours around it, the strongest on top, then clockwise.

    The line to a neighbour is as wide as its soft target; `pairs` of nodes are neighbours of each other.
    Without nodes there is nothing to draw.
    """
    plot = Plot(name, description, HEIGHT)
    if not nodes:
        return plot
    places = [_place(number, len(nodes)) for number in range(len(nodes))]
    for one, other in pairs:
        _edge(plot, places[one], places[other], "weak", GRID, 1.5)
    for node, place in zip(nodes, places, strict=True):
        line = _edge(plot, _CENTRE, place, "strong", SERIES[2], max(_WIDEST * node.target, 0.8))
        ET.SubElement(line, "title").text = printable(node.said)
    for node, place in zip(nodes, places, strict=True):
        circle = plot.add("circle", cx=place[0], cy=place[1], r=7, **series_fill(2))
        ET.SubElement(circle, "title").text = printable(node.said)
        _name(plot, node, place)
    middle = plot.add("circle", cx=_CENTRE[0], cy=_CENTRE[1], r=10, **series_fill(1))
    ET.SubElement(middle, "title").text = printable(name)
    _add_legend(plot, bool(pairs))
    return plot


def refuse_unwritable_drawing(path: Path) -> None:
    """InputError unless an SVG or HTML file can be written at `path`; call it before long work."""
    if path.suffix.lower() not in {".svg", ".html"}:
        raise InputError(f"found {path.suffix or 'no suffix'}", expected=".svg or .html", path=path)
    refuse_unwritable(path)


def write_drawing(path: Path, plot: Plot, nodes: Sequence[Node]) -> None:
    """The picture as a file of its own, or in a page with a table of the same figures."""
    if path.suffix.lower() == ".svg":
        plot.write(path)
        return
    rows = [[node.name, f"{node.target:.2f}", f"{node.rows:,}"] for node in nodes]
    write_page(path, render(__package__, "neighbourhood.html.j2", title=plot.title, plot=plot, rows=rows))


def _place(number: int, count: int) -> tuple[float, float]:
    angle = 2 * math.pi * number / count
    return _CENTRE[0] + _RADII[0] * math.sin(angle), _CENTRE[1] - _RADII[1] * math.cos(angle)


def _edge(
    plot: Plot, one: tuple[float, float], other: tuple[float, float], kind: str, colour: str, wide: float
) -> ET.Element:
    style = {"class": f"edge-{kind}", "stroke": colour, "stroke-width": f"{wide:.1f}"}
    return plot.add("line", x1=one[0], y1=one[1], x2=other[0], y2=other[1], **style)


def _name(plot: Plot, node: Node, place: tuple[float, float]) -> None:
    """The name beside the node, away from the middle, and the soft target below it."""
    x, y = place
    aside = x - _CENTRE[0]
    if abs(aside) < 1:
        above = y < _CENTRE[1]
        plot.text(x, y - 26 if above else y + 22, short(node.name, 2 * _LONGEST_NAME))
        plot.text(x, y - 12 if above else y + 36, f"{node.target:.2f}", font_size="11")
        return
    side, anchor = (12, "start") if aside > 0 else (-12, "end")
    plot.text(x + side, y + 1, short(node.name, _LONGEST_NAME), anchor)
    plot.text(x + side, y + 14, f"{node.target:.2f}", anchor, font_size="11")


def _add_legend(plot: Plot, with_pairs: bool) -> None:
    _edge(plot, (8, 12), (36, 12), "strong", SERIES[2], _WIDEST / 2)
    plot.text(42, 16, "as wide as the soft target", "start")
    if with_pairs:
        _edge(plot, (268, 12), (296, 12), "weak", GRID, 1.5)
        plot.text(302, 16, "neighbours of each other", "start")
