"""Plots: values in their places, text that cannot break out, and something for every degenerate input."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from html_reading import Reading
from hypothesis import given
from hypothesis import strategies as st

from tailwright.errors import InputError
from tailwright.study.page import svg
from tailwright.study.page.neighbourhood import Node, neighbourhood
from tailwright.study.page.svg import HEIGHT, WIDTH, Band, Plot, _ticks

WORDS = {"title": "a title", "description": "what it shows", "x_label": "rank", "y_label": "rows"}
NASTY = '<script>alert(1)</script> & "quotes" \x00'


def log_log_curve(*values, **more) -> str:
    return svg.log_log_curve(*values, **more).__html__()


def bars(*values, **more) -> str:
    return svg.bars(*values, **more).__html__()


def histogram(*values, **more) -> str:
    return svg.histogram(*values, **more).__html__()


def parsed(plot: str) -> ET.Element:
    assert Reading(plot).wrong == []
    return ET.fromstring(plot)


def rects(plot: str) -> list[dict[str, float]]:
    """The bars: those that say their value."""
    return [
        {name: float(rect.attrib[name]) for name in ("x", "y", "width", "height")}
        for rect in parsed(plot).iter("rect")
        if rect.find("title") is not None
    ]


def curve_points(plot: str) -> np.ndarray:
    (line,) = parsed(plot).iter("polyline")
    return np.array([[float(n) for n in point.split(",")] for point in line.attrib["points"].split()])


def test_equal_ratios_are_equal_distances_on_both_axes():
    points = curve_points(log_log_curve([1000.0 / rank for rank in range(1, 1001)], **WORDS))
    across, down = points[-1] - points[0]
    x_of_ten, y_of_ten = points[0] + (across / 3, down / 3)
    nearest = points[np.abs(points[:, 0] - x_of_ten).argmin()]
    assert nearest == pytest.approx([x_of_ten, y_of_ten], abs=0.2)
    assert np.all(np.diff(points[:, 0]) >= 0)


def test_a_million_labels_are_drawn_with_few_points():
    plot = log_log_curve(np.geomspace(5000, 1, 1_000_000).tolist(), **WORDS)
    assert len(curve_points(plot)) < 700
    assert "1M" in plot


def test_bands_stand_side_by_side_in_order():
    plot = log_log_curve([9.0, 4.0, 2.0, 1.0, 1.0], bands=[Band("head", 1, 2), Band("tail", 3, 5)], **WORDS)
    shaded = [(float(r.attrib["x"]), float(r.attrib["width"])) for r in parsed(plot).iter("rect")]
    assert len(shaded) == 2
    assert sum(shaded[0]) == pytest.approx(shaded[1][0], abs=0.2)
    assert {"head", "tail"} <= set(Reading(plot).of("text"))


@pytest.mark.parametrize("ys", [[1.0], [7.0], [1.0, 1.0, 1.0], [10.0] * 10, [0.25]])
def test_a_curve_of_one_label_or_of_equal_ones_is_drawn(ys):
    root = parsed(log_log_curve(ys, bands=[Band("tail", 1, len(ys))], **WORDS))
    assert len(list(root.iter("circle"))) + len(list(root.iter("polyline"))) == 1


def test_nothing_to_draw_is_said():
    for plot in (
        log_log_curve([], **WORDS),
        bars([], {}, **WORDS),
        bars(["1"], {"a": [None]}, **WORDS),
        histogram(1.0, {"a": [0, 0]}, **WORDS),
    ):
        assert Reading(plot).of("p") == ["a title: there is nothing to draw."]


def test_a_curve_refuses_what_has_no_logarithm():
    with pytest.raises(ValueError, match=r"ys must be > 0, got 0"):
        log_log_curve([3.0, 0.0], **WORDS)
    with pytest.raises(ValueError, match=r"first must be in \(0, 2\], got 3"):
        Band("tail", 3, 2)


def test_heights_of_bars_are_in_proportion_and_losses_hang_below_zero():
    gain, loss = rects(bars(["1", "2"], {"gain": [2.0, -1.0]}, **WORDS))
    assert gain["height"] == pytest.approx(2 * loss["height"], rel=0.01)
    assert gain["y"] + gain["height"] == pytest.approx(loss["y"], abs=0.2)


def test_a_missing_value_leaves_its_place_empty():
    plot = bars(["1", "2"], {"a": [1.0, None], "b": [1.0, 1.0]}, **WORDS)
    assert len(rects(plot)) == 3
    assert {"a", "b"} <= set(Reading(plot).of("text"))


def test_an_interval_is_drawn_through_its_bar_and_fits_in():
    plot = bars(["1"], {"a": [1.0]}, intervals={"a": [(-40.0, 60.0)]}, **WORDS)
    whiskers = [line.attrib for line in parsed(plot).iter("line") if line.attrib["x1"] == line.attrib["x2"]]
    (bar,) = rects(plot)
    (whisker,) = whiskers
    assert bar["x"] < float(whisker["x1"]) < bar["x"] + bar["width"]
    assert 0 < float(whisker["y2"]) < float(whisker["y1"]) < HEIGHT


def test_a_series_of_another_length_is_refused():
    with pytest.raises(ValueError, match="'a' has 1 values for 2 groups"):
        bars(["1", "2"], {"a": [1.0]}, **WORDS)


def test_no_text_breaks_out_of_a_plot():
    words = dict.fromkeys(WORDS, NASTY)
    for plot in (
        log_log_curve([2.0, 1.0], bands=[Band(NASTY, 1, 2)], **words),
        bars([NASTY], {NASTY: [1.0], "b": [2.0]}, **words),
        bars([], {}, **words),
        histogram(1.0, {NASTY: [1], "b": [2]}, **words),
        neighbourhood(NASTY, [Node(NASTY, 1.0, 3)], [], description=NASTY).__html__(),
    ):
        reading = Reading(plot)
        assert reading.wrong == []
        assert any("<script>alert(1)</script> & " in text for _, text in reading.texts)


def test_plots_speak_to_those_who_do_not_see_them():
    one, other = log_log_curve([2.0, 1.0], **WORDS), bars(["1"], {"a": [1.0]}, **WORDS)
    ids = []
    for plot in (one, other):
        root = parsed(plot)
        ids += root.attrib["aria-labelledby"].split()
        assert [root.find("title").attrib["id"], root.find("desc").attrib["id"]] == ids[-2:]
        assert root.attrib["role"] == "img"
    assert len(set(ids)) == 4
    assert one == log_log_curve([2.0, 1.0], **WORDS)


@given(st.floats(-1e6, 0), st.floats(0, 1e6))
def test_ticks_hold_everything_and_are_few(low, high):
    ticks = _ticks(low, high)
    assert ticks[0] <= low + 1e-6 * abs(low)
    assert ticks[-1] >= high - 1e-6 * high
    assert 2 <= len(ticks) <= 8
    assert all(a < b for a, b in itertools.pairwise(ticks))


def values(rows: int) -> st.SearchStrategy:
    return st.lists(st.none() | st.floats(-100, 100), min_size=rows, max_size=rows)


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), values(n), values(n))))
def test_every_bar_lies_inside_the_picture(case):
    groups, one, other = case
    plot = bars([str(i) for i in range(groups)], {"a": one, "b": other}, **WORDS)
    for bar in rects(plot) if plot.startswith("<svg") else []:
        assert 0 <= bar["x"] <= bar["x"] + bar["width"] <= WIDTH
        assert 0 <= bar["y"] <= bar["y"] + bar["height"] <= HEIGHT


def test_a_histogram_stacks_its_series_in_proportion():
    low, high, alone = rects(histogram(4.0, {"a": [30, 0], "b": [60, 15]}, **WORDS))
    assert high["height"] == pytest.approx(2 * low["height"], abs=0.2)
    assert high["y"] + high["height"] == pytest.approx(low["y"], abs=0.2)
    assert alone["height"] == pytest.approx(low["height"] / 2, abs=0.2)
    assert low["x"] == high["x"] < alone["x"]


def test_the_bars_of_a_histogram_say_their_series_step_and_count():
    plot = histogram(4.0, {"a": [1200, 0], "b": [0, 1]}, **WORDS)
    assert {"a, 0.00 to 2.00: 1,200", "b, 2.00 to 4.00: 1"} <= set(Reading(plot).of("title"))


def test_the_series_of_a_histogram_differ_without_colour():
    plot = histogram(1.0, {"a": [1], "b": [1]}, **WORDS)
    outlined = ["stroke" in rect.attrib for rect in parsed(plot).iter("rect")]
    assert outlined == [False, True, False, True]  # bars, then the legend


def test_the_cut_of_a_histogram_is_a_line_at_its_value_and_in_the_legend():
    plot = histogram(4.0, {"a": [2, 2, 2, 2]}, cut=2.0, **WORDS)
    at, _ = [line.attrib for line in parsed(plot).iter("line") if line.attrib["x1"] == line.attrib["x2"]]
    bars_before, bars_behind = rects(plot)[:2], rects(plot)[2:]
    assert bars_before[-1]["x"] + bars_before[-1]["width"] < float(at["x1"]) < bars_behind[0]["x"]
    assert {"a", "cut at 2.000"} <= set(Reading(plot).of("text"))


@given(st.floats(1e-3, 1e5), st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), min_size=1))
def test_every_bar_of_a_histogram_lies_inside_the_picture(to, counts):
    one, other = zip(*counts, strict=True)
    plot = histogram(to, {"a": one, "b": other}, **WORDS)
    for bar in rects(plot) if plot.startswith("<svg") else []:
        assert 0 <= bar["x"] <= bar["x"] + bar["width"] <= WIDTH
        assert 0 <= bar["y"] <= bar["y"] + bar["height"] <= HEIGHT


def test_lines_to_neighbours_are_in_proportion_and_name_themselves():
    nodes = [Node("top", 0.8, 1), Node("a" * 50, 0.8, 1200), Node("b", 0.4, 7)]
    plot = neighbourhood("the label", nodes, [(0, 2)], description="d").__html__()
    lines = [line.attrib for line in ET.fromstring(plot).iter("line")]
    to_nodes = [line for line in lines if line["class"] == "edge-strong"][:3]
    assert len({(line["x1"], line["y1"]) for line in to_nodes}) == 1  # all from the middle
    assert [float(line["stroke-width"]) for line in to_nodes] == pytest.approx([5.6, 5.6, 2.8])
    (pair, _of_legend) = (line for line in lines if line["class"] == "edge-weak")
    ends = [(line["x2"], line["y2"]) for line in to_nodes]
    assert [(pair["x1"], pair["y1"]), (pair["x2"], pair["y2"])] == [ends[0], ends[2]]
    assert {"a" * 16 + "…", "b", "0.40", "neighbours of each other"} <= set(Reading(plot).of("text"))
    assert f"{'a' * 50}: soft target 0.80, 1,200 training rows" in Reading(plot).of("title")


@pytest.mark.parametrize("count", [1, 2, 7, 10])
def test_no_two_neighbours_and_no_name_lie_on_each_other_or_outside(count):
    nodes = [Node("a name of so many letters", 0.5, 3)] * count
    plot = neighbourhood("the label", nodes, [], description="d").__html__()
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in ET.fromstring(plot).iter("circle")]
    assert len(places) == count + 1
    apart = [math.dist(one, other) for one, other in itertools.combinations(places, 2)]
    assert min(apart) > 40
    for text in ET.fromstring(plot).iter("text"):
        x, width = float(text.get("x")), 7.2 * len(text.text)
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
        assert 0 <= left <= left + width <= WIDTH


def test_a_plot_is_a_file_of_its_own_that_needs_no_page(tmp_path):
    for name, plot in {
        "bars": svg.bars(["1"], {NASTY: [1.0]}, **WORDS),
        "curve": svg.log_log_curve([2.0, 1.0], bands=[Band("tail", 1, 2)], **WORDS),
        "histogram": svg.histogram(1.0, {"a": [1], NASTY: [1]}, cut=0.5, **WORDS),
        "neighbours": neighbourhood("a title", [Node("b", 1.0, 3)], [], description="d"),
    }.items():
        plot.write(tmp_path / f"{name}.svg")
        root = ET.parse(tmp_path / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[-1] == "a title"
        assert "var(" not in (tmp_path / f"{name}.svg").read_text()
    Plot("a title", "d").write(tmp_path / "empty.svg")
    assert "there is nothing to draw" in (tmp_path / "empty.svg").read_text()


def test_a_picture_of_another_kind_or_in_no_folder_is_refused(tmp_path):
    plot = svg.bars(["1"], {"a": [1.0]}, **WORDS)
    with pytest.raises(InputError, match=r"tail\.png: found \.png, expected \.svg"):
        plot.write(tmp_path / "tail.png")
    with pytest.raises(InputError, match="cannot be written"):
        plot.write(tmp_path / "missing" / "tail.svg")
    assert list(tmp_path.iterdir()) == []
