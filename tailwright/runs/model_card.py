"""The model card: README.md of a run folder, which says to people what the run is.

Its front matter is what the Hugging Face hub reads. Nothing reads the rest back. Texts that come from the
user (labels, paths, settings) stand in code spans of tables alone, where neither Markdown nor HTML counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwright.augmentation import augmenters
from tailwright.labels.frequency import TailThresholds

if TYPE_CHECKING:
    from tailwright.runs.facts import AppliedAugmentation
    from tailwright.runs.run import Run

SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@1", "PSP@3", "PSP@5", "R@10", "ECE@5")
FREQUENT = 5  # labels that are shown
LONGEST = 100  # characters of a text that are shown


def model_card(run: Run) -> str:
    """The whole of README.md."""
    sections = [
        _head(),
        f"# {run.name} over {len(run.labels):,} labels",
        _what(run),
        "## How to use it",
        _use(run),
        "## Training data",
        _data(run),
        "## How good it is",
        _quality(run),
        "## Probabilities and rare labels",
        _probabilities(run),
        "## How it was trained",
        _training(run),
        "## Intended use and limits",
        _limits(run),
        "## Versions",
        _table(["software", "version"], [[_code(name), _code(v)] for name, v in run.versions.items()]),
    ]
    return "\n\n".join(sections) + "\n"


def source_name(path: str) -> str:
    """What the data are called, without the folders that they lie in.

    >>> [source_name(path) for path in ("/home/jo/a.csv?labels=b/c", "C:/jo/shop", "demo:500", "")]
    ['a.csv', 'shop', 'demo:500', '']
    """
    return PureWindowsPath(path.partition("?")[0]).name  # which knows both kinds of slashes


def without_folders(value: Any) -> Any:
    """Settings in which a path that leads from a root or a home folder is only its last part.

    >>> without_folders({"encoder": "/home/jo/bert", "run": "runs/f0", "sizes": (1, 2)})
    {'encoder': 'bert', 'run': 'runs/f0', 'sizes': (1, 2)}
    """
    if isinstance(value, Mapping):
        return {key: without_folders(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(without_folders(inner) for inner in value)
    if isinstance(value, str) and (value[:1] in {"/", "~"} or PureWindowsPath(value).is_absolute()):
        return source_name(value)
    return value


def _head() -> str:
    tags = ["tailwright", "multi-label-classification", "extreme-multi-label-classification", "long-tail"]
    return "\n".join(
        [
            "---",
            "library_name: tailwright",
            "pipeline_tag: text-classification",
            "tags:",
            *(f"- {tag}" for tag in tags),
            "---",
        ]
    )


def _what(run: Run) -> str:
    card = run.model.card
    words = [f"It gives a text its best labels out of {len(run.labels):,}, with a score for each."]
    words.append(f"Model: {card.summary}{f' ({card.paper})' if card.paper else ''}.")
    return " ".join(words)


def _use(run: Run) -> str:
    extra = f"[{run.model.card.extra}]" if run.model.card.extra else ""
    return f"""Install it with `pip install "tailwright{extra}"`. In Python, with the path of this folder:

```python
import tailwright as tw

run = tw.load("path/of/this/folder")  # or, from the hub: tw.load("hub:user/name")
run.predict(["a text to label"], k=5)
```

On the command line: `tailwright predict path/of/this/folder "a text to label"`."""


def _data(run: Run) -> str:
    counts = run.labels.counts
    slices = TailThresholds().slices(counts)
    facts = [
        ["data", _code(source_name(run.data.path) or "not known")],
        ["digest of the data", _code(run.data.digest or "not known")],
        ["rows", f"{run.train_rows:,}"],
        ["share of the training rows that were read", f"{100 * run.fraction:g} %"],
        ["labels", f"{len(run.labels):,}"],
        ["labels a row", f"{counts.sum() / max(run.train_rows, 1):.2f}"],
        *([f"{name} labels", f"{int(mask.sum()):,}"] for name, mask in slices.items()),
    ]
    most = np.argsort(-counts, kind="stable")[:FREQUENT]
    names = [[_code(run.labels.names[int(i)].as_py()), f"{int(counts[i]):,}"] for i in most]
    return "\n\n".join(
        [_table(["", ""], facts), _SLICES, "The most frequent labels:", _table(["label", "rows"], names)]
    )


def _quality(run: Run) -> str:
    if run.measured is None:
        return "It was not measured before it was saved. `tailwright evaluate` does it on rows of yours."
    metrics = run.measured.metrics
    shown = [name for name in SHOWN if name in metrics]
    slices = {"all labels": metrics, **run.measured.slices}
    rows = [
        [labels, *(f"{found[name]:.2f}" if name in found else "-" for name in shown)]
        for labels, found in slices.items()
    ]
    on = f"On {run.measured.rows:,} {run.measured.of} rows, which it has not learnt from, in percent:"
    return "\n\n".join([on, _table(["labels", *shown], rows), _METRICS])


def _probabilities(run: Run) -> str:
    if run.is_calibrated:
        said = "Scores are probabilities; they were fitted to rows that the model had not learnt from."
    elif run.gives_probabilities:
        said = "Scores are as the model gives them: no rows were held out to fit probabilities to them."
    else:
        said = "Scores are no probabilities: only their order means something."
    if run.tail is None:
        return said
    if not run.tail.tail:
        return f"{said} No `--tail` gained PSP@5 on held-out rows for at most a point of P@1."
    return f"{said} For rare labels predict with `--tail {run.tail.tail:g}`: {_gain(run)}."


def _gain(run: Run) -> str:
    assert run.tail is not None
    return f"on {run.tail.rows:,} held-out rows, PSP@5 {run.tail.psp5:+.1f} and P@1 {run.tail.p1:+.1f} points"


def _training(run: Run) -> str:
    settings = _changed(asdict(run.model.settings), asdict(type(run.model.settings)()))
    parts = [f"Seed {run.seed}. Settings of {run.name} that differ from the defaults:"]
    parts.append(_settings_table(settings) if settings else "none.")
    if not run.augmentations:
        return "\n\n".join([*parts, "The training data were not augmented."])
    parts.append("Augmentations, in their order:")
    methods = [[_code(one.name), f"{one.rows:+,}", _settings_of(one)] for one in run.augmentations]
    return "\n\n".join([*parts, _table(["method", "rows", "settings that differ"], methods)])


def _settings_of(one: AppliedAugmentation) -> str:
    default = asdict(augmenters.settings(one.name)()) if one.name in augmenters.names() else {}
    changed = _changed(one.settings, default)
    return ", ".join(_code(f"{name}={value}") for name, value in changed.items()) or "-"


def _settings_table(settings: Mapping[str, Any]) -> str:
    return _table(["setting", "value"], [[_code(name), _code(value)] for name, value in settings.items()])


def _changed(settings: Mapping[str, Any], default: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The settings that differ from the default, by their dotted names; lists and tuples are the same."""
    changed: dict[str, Any] = {}
    for name, value in without_folders(settings).items():
        usual = default.get(name)
        if isinstance(value, Mapping):
            changed |= _changed(value, usual if isinstance(usual, Mapping) else {}, f"{above}{name}.")
        elif name not in default or _as_list(value) != _as_list(usual):
            changed[above + name] = value
    return changed


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _limits(run: Run) -> str:
    unseen = int((run.labels.counts == 0).sum())
    never = f" {unseen:,} of its labels had no training row." if unseen else ""
    return f"""It is meant to suggest labels for texts like those that it was trained on: of the same kind,
language and length. A person should look at what it suggests where a wrong label does harm.

- It knows the labels of its training data and no others, and it always ranks some of them first, whether or
  not any of them fits.
- Of a label in the long tail, with few training rows, it has seen little: expect more errors there than the
  figures over all labels say.{never}
- Data of this kind lack true labels, more often rare ones. A label that counts as wrong above may be right.
- It repeats the habits and the gaps of those who labelled the training data."""


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(value: Any) -> str:
    r"""A code span for a cell of a table, whatever the text is.

    >>> print(_code("a|b `c`\n<b>"))
    `a\|b 'c' <b>`
    """
    plain = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in str(value))
    words = " ".join(plain.replace("`", "'").split())
    short = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    # A backslash before a bar would free the bar again.
    return f"`{short.replace(chr(92), '/').replace('|', chr(92) + '|') or ' '}`"


_SLICES = (
    f"A head label has more than {TailThresholds().head} training rows, a torso label more than "
    f"{TailThresholds().tail}, a tail label at least one, an unseen label none."
)
_METRICS = (
    "P@k is how many of the first k labels are right. PSP@k is the same with rare labels counting for more, "
    "by the inverse of how likely a true label is to have been annotated, as a share of the best possible. "
    "R@k is how many of the true labels are among the first k; ECE@k is how far probabilities are off."
)
