"""Plots as plain JSON for Plotly: colours, lines, and what all plots share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Figure: TypeAlias = dict[str, Any]  # {"data": traces, "layout": layout}, as Plotly.newPlot takes them

# Mid-tones that can be told apart, on a dark page too and by most of the colour-blind; the first is grey.
COLOURS = (
    "#8a94a0",
    "#2f7fc1",
    "#d97b29",
    "#1b9e77",
    "#b8548a",
    "#8577d6",
    "#b8961f",
    "#d1495b",
    "#2aa3b5",
    "#7d8f3a",
)
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down", "pentagon")
HEIGHT = 420


def line(
    name: str, x: Sequence[Any], y: Sequence[Any], colour: str, hover: str, width: float = 2.5, **more: Any
) -> dict[str, Any]:
    """A line of a plot; `hover` is Plotly's template for a point, `more` are other fields of the trace."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain(name),
        "x": x,
        "y": y,
        "hovertemplate": f"{hover}<extra>%{{fullData.name}}</extra>",
        **more,
        "line": {"color": colour, "width": width, **more.get("line", {})},
    }


def figure(traces: Sequence[Mapping[str, Any]], x: str, y: str, **more: Any) -> Figure:
    """A plot without background, the legend above, axes that make room for their names.

    `more` are settings of Plotly's layout; those of `xaxis` and `yaxis` join the shared ones.
    """
    axes = {
        name: {"title": {"text": plain(title)}, "automargin": True, **more.pop(name, {})}
        for name, title in (("xaxis", x), ("yaxis", y))
    }
    shared = {
        "height": HEIGHT,
        "autosize": True,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 56, "r": 16, "t": 24, "b": 48},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "showlegend": True,  # Plotly would leave it out where there is one curve
        "hovermode": "closest",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": COLOURS[0], "activecolor": COLOURS[1]},
    }
    return {"data": traces, "layout": {**shared, **axes, **more}}


def plain(text: object) -> str:
    """A text that Plotly shows as it is; it would read some HTML in it.

    >>> plain("<b>x</b> & y")
    '&lt;b&gt;x&lt;/b&gt; &amp; y'
    """
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def translucent(colour: str, share: float) -> str:
    """A colour, partly transparent.

    >>> translucent("#ff8000", 0.2)
    'rgba(255,128,0,0.2)'
    """
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share:g})"
