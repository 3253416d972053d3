"""An explanation as lines of styled text: what a terminal, a notebook and a page all show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tailwright.data.text.printable import printable
from tailwright.data.text.words import word_segments
from tailwright.models.shared.reasons import PartOpinion, Reasons, Step, WordShare

if TYPE_CHECKING:
    from tailwright.runs.explaining import ExplainedLabel, Explanation

SHOWN = 8  # words for a label and against it that are listed; the rest is counted
SMALLEST = 0.005  # what is printed as 0.00
STEP_WORDS = 2  # words that are listed of a step through a label tree

_BLANKS = str.maketrans("\n\r\t", "   ")  # a line stays one, and a terminal does not go back in it

Style: TypeAlias = Literal["plain", "title", "for", "against", "unknown"]


class Segment(NamedTuple):
    """Text of one style; `strength` in [0, 1] is how much a marked word matters beside the others."""

    text: str
    style: Style = "plain"
    strength: float = 1.0


class Line(NamedTuple):
    """Segments that stand together, so far to the right."""

    indent: int
    segments: tuple[Segment, ...]


def line(indent: int, *segments: str | Segment) -> Line:
    """A line; plain strings are plain segments."""
    styled = (Segment(s) if isinstance(s, str) else s for s in segments)
    return Line(indent, tuple(s._replace(text=printable(s.text.translate(_BLANKS))) for s in styled))


def plain_text(explanation: Explanation) -> str:
    """Everything, without styles."""
    lines = [said(explanation.text), *remarks(explanation)]
    for label in explanation.labels:
        lines += [line(0), heading(label), *details(label, explanation.nearest_by)]
    return "\n".join(
        " " * indent + "".join(segment.text for segment in segments) for indent, segments in lines
    )


def said(text: str) -> Line:
    """The text itself."""
    return line(0, text if text.strip() else "(an empty text)")


def remarks(explanation: Explanation) -> list[Line]:
    """What holds for all labels."""
    dial = [line(0, f"ranked with --tail {explanation.tail:g}")] if explanation.tail else []
    return [*dial, *(line(0, note) for note in explanation.notes)]


def heading(label: ExplainedLabel) -> Line:
    """Which label it is, and where it stands."""
    place = "not named" if label.rank is None else f"place {label.rank:,}"
    if label.probability is not None:
        place += f", probability {label.probability:.4f}"
    elif label.score is not None and not label.reasons.parts:
        place += f", score {label.score:.4f}"
    rows = f"{label.training_rows:,} training row{'s' * (label.training_rows != 1)}"
    facts = f" (id {label.id}): {place}, {rows}"
    return line(0, Segment(_one_line(label.name), "title"), facts)


def marked_text(text: str, words: Sequence[WordShare]) -> tuple[Segment, ...]:
    """The text with its words marked by what they say of a label."""
    by_word = {share.word: share for share in words}
    most = max((abs(share.value) for share in words), default=0.0)
    segments = []
    for segment, read_as in word_segments(text):
        shares = [by_word[word] for word in read_as if word in by_word]
        value = sum(share.value for share in shares)
        style: Style = "plain"
        if abs(value) >= SMALLEST:
            style = "for" if value > 0 else "against"
        elif shares and all(share.known_by == "nothing" for share in shares):
            style = "unknown"
        segments.append(Segment(segment, style, min(abs(value) / most, 1.0) if most else 0.0))
    return line(0, *segments).segments


def details(label: ExplainedLabel, nearest_by: str) -> list[Line]:
    """Why: words, paths, parts, nearest rows."""
    lines = [line(2, f"its text: {_one_line(label.text)}")] if label.text not in {"", label.name} else []
    lines += _of_reasons(label.reasons, 2)
    if label.rows:
        lines.append(line(2, f"nearest training rows with this label, by the {nearest_by}:"))
    elif nearest_by:
        near = "is near the text" if label.training_rows else "is there"
        lines.append(line(2, f"no training row with this label {near}"))
    for row in label.rows:
        own = [f"id {row.id}"] * bool(row.id) + [f"made by {row.made_by}"] * bool(row.made_by)
        own += [f"target {row.target:g}"] * (row.target < 1)
        about = f"  ({', '.join(own)})" if own else ""
        lines.append(line(4, f"{row.cosine:.2f}  {_one_line(row.text)}{about}"))
    return lines


def _of_reasons(reasons: Reasons, indent: int) -> Iterator[Line]:
    yield from (line(indent, note) for note in reasons.notes)
    if reasons.words is not None:
        yield from _of_words(reasons.words, indent)
        if reasons.exact and reasons.bias:
            whole = f"{reasons.total:.2f} with the bias {reasons.bias:+.2f}"
            yield line(indent, f"together: {whole}: {reasons.measure}")
        elif reasons.exact:
            yield line(indent, f"together: {reasons.total:.2f}: {reasons.measure}")
        elif any(share.value for share in reasons.words):
            yield line(indent, f"numbers: {reasons.measure}")
    yield from _of_paths(reasons.paths, indent)
    for part in reasons.parts:
        yield line(indent, Segment(part.name, "title"), f": {_opinion(part)}")
        yield from _of_reasons(part.reasons, indent + 2)
    if reasons.log_odds is not None:
        yield line(indent, f"together: log-odds {reasons.log_odds:.2f}")


def _of_words(words: Sequence[WordShare], indent: int) -> Iterator[Line]:
    """The words by side, the strongest first."""
    sides: dict[Style, list[WordShare]] = {
        "for": sorted((s for s in words if s.value >= SMALLEST), key=lambda s: -s.value),
        "against": sorted((s for s in words if s.value <= -SMALLEST), key=lambda s: s.value),
    }
    for side, shares in sides.items():
        if not shares:
            continue
        segments = [Segment(f"{side}: ")]
        for share in shares[:SHOWN]:
            by_pieces = " by its pieces" if share.known_by == "pieces" else ""
            segments += [Segment(share.word, side), Segment(f" {share.value:+.2f}{by_pieces}, ")]
        more = f"and {len(shares) - SHOWN} more" if len(shares) > SHOWN else ""
        last = segments[-1].text.removesuffix(", ")
        yield line(indent, *segments[:-1], f"{last}, {more}" if more else last)
    rest = [share for share in words if abs(share.value) < SMALLEST]
    for what, known in (("neutral", True), ("unknown", False)):
        listed = [share.word for share in rest if (share.known_by != "nothing") == known]
        if listed:
            more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
            yield line(indent, f"{what}: {', '.join(listed[:SHOWN])}{more}")
    if not words:
        yield line(indent, "the text has no words")


def _of_paths(paths: Sequence[Sequence[Step]], indent: int) -> Iterator[Line]:
    """How the margins on the way to the label become its score."""
    if not paths:
        return
    if len(paths) == len(paths[0]) == 1:
        yield line(indent, f"activation of this margin, which is the score: {paths[0][0].activation:.2f}")
        return
    yield line(indent, "label trees (activations multiply, trees are averaged):")
    for number, path in enumerate(paths):
        yield line(indent + 2, f"tree {number + 1}: {_path(path)}")


def _path(path: Sequence[Step]) -> str:
    """The activations from the root to the label, which are multiplied."""
    steps = []
    for step in path[:-1]:
        strongest = sorted(step.words, key=lambda share: -abs(share.value))[:STEP_WORDS]
        because = ", ".join(f"{share.word} {share.value:+.2f}" for share in strongest)
        steps.append(f"cluster {step.activation:.2f}" + f" ({because})" * bool(because))
    steps.append(f"label {path[-1].activation:.2f}")
    if not all(step.kept for step in path):
        return f"{' x '.join(steps)}, which the search did not follow: 0"
    product = math.prod(step.activation for step in path)
    return " x ".join(steps) + f" = {product:.2f}" * (len(steps) > 1)


def _opinion(part: PartOpinion) -> str:
    if part.rank is None or part.score is None:
        return "does not name the label"
    said = f"place {part.rank:,}, score {part.score:.2f}" + f" ({part.kind})" * (part.kind != "rank")
    if part.share is not None:
        said += f", {part.share:.0%} of what it named"
    return said if part.adds is None else f"{said}, adds {part.adds:+.2f} to the log-odds"


def _one_line(text: str) -> str:
    return " ".join(text.split())
