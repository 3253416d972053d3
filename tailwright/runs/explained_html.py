"""An explanation as a part of an HTML page, for notebooks and for the page that `tailwright explain` writes.

Built as a tree of elements, so that every text is escaped. Colours are translucent, so that they can be read
on light and on dark paper; words for a label have a solid line below, words against it a dotted one.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailwright.runs.explained_text import Line, Segment, Style, details, heading, marked_text, remarks, said

if TYPE_CHECKING:
    from tailwright.runs.explaining import Explanation

COLOURS: dict[Style, str] = {"for": "27,158,119", "against": "217,95,2"}
LINES: dict[Style, str] = {"for": "solid", "against": "dotted"}


def fragment(explanation: Explanation) -> str:
    """The explanation as a `div`."""
    root = ET.Element("div", {"class": "explanation"})
    if not explanation.labels:
        _add(root, "p", said(explanation.text))
    for remark in remarks(explanation):
        _add(root, "p", remark)
    for label in explanation.labels:
        article = ET.SubElement(root, "article", {"class": "example"})
        _add(article, "h3", heading(label))
        text = ET.SubElement(article, "p", {"dir": "auto", "style": "font-size: 1.1em; line-height: 1.8"})
        _fill(text, marked_text(explanation.text, label.reasons.words or ()))
        for one in details(label, explanation.nearest_by):
            _add(article, "div", one)
    return ET.tostring(root, encoding="unicode", method="html")


def _add(parent: ET.Element, tag: str, content: Line) -> None:
    indent = {"style": f"margin-left: {content.indent / 2:g}em"} if content.indent else {}
    _fill(ET.SubElement(parent, tag, indent), content.segments)


def _fill(element: ET.Element, segments: Sequence[Segment]) -> None:
    for segment in segments:
        child = ET.SubElement(element, "mark" if segment.style in COLOURS else "span", _style(segment))
        child.text = segment.text


def _style(segment: Segment) -> dict[str, str]:
    if segment.style in COLOURS:
        colour, below = COLOURS[segment.style], LINES[segment.style]
        shade = f"background: rgba({colour},{0.1 + 0.45 * segment.strength:.2f})"
        return {"style": f"{shade}; color: inherit; border-bottom: 2px {below} rgb({colour})"}
    by_style = {"title": "font-weight: 700", "unknown": "font-style: italic; opacity: 0.6"}
    return {"style": by_style[segment.style]} if segment.style in by_style else {}
