"""The demo as one HTML page: the corpus, the metrics, where augmentation helps and where it does not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tailwright import __version__
from tailwright.cli.demo import ABOUT, CAVEAT, COLUMNS, SLICE_COLUMNS, choice_rule
from tailwright.cli.demo_story import AUGMENTED, BUCKETS, GAIN_AT, MODELS, PLAIN, Comparison, Example, Trial
from tailwright.data.corpus import Corpus
from tailwright.data.inspect import CorpusReport
from tailwright.data.rank_frequency import rank_frequency
from tailwright.evaluation.page import commands, escaped, figure, page, paragraph, section, table
from tailwright.evaluation.svg import Band, bars, log_log_curve
from tailwright.labels import head_torso_tail

# The same model has the same colour in both bar plots.
COLOUR_OF_AUGMENTED = list(MODELS).index(AUGMENTED)


def demo_page(
    corpus: Corpus,
    found: CorpusReport,
    trials: Mapping[str, Trial],
    comparison: Comparison,
    seconds: Mapping[str, float],
    *,
    size: int | None,
    seed: int,
) -> str:
    """The whole document."""
    test_rows = found.splits["test"].rows
    return page(
        "Tailwright demo: rare labels with and without augmentation",
        [
            paragraph(summary(comparison)),
            section("The corpus", *_corpus(corpus, found)),
            section(f"Four models on {test_rows:,} test rows", *_metrics(trials)),
            section("Where augmentation helps, and where it does not", *_gains(trials, comparison)),
            section(
                "Predictions before and after",
                *map(paragraph, choice_rule(comparison, test_rows).split("\n")),
                *map(_example, comparison.examples),
            ),
            section("How it was made", *_how(seconds, size, seed)),
        ],
        footer=f"Made by tailwright {__version__}. The corpus is derived from WordNet 3.0.",
    )


def summary(comparison: Comparison) -> str:
    """The outcome in one sentence or two, whichever way it went."""
    sides: dict[str, list[str]] = {}
    for name, gain in comparison.by_slice.items():
        where = "overall" if name == "all" else f"on {name} labels"
        sides.setdefault(gain.in_words, []).append(f"{where} ({gain.mean:+.2f} points)")
    said = "; ".join(f"{verdict} {', '.join(places)}" for verdict, places in sides.items())
    return f"R@{GAIN_AT} of {AUGMENTED} against {PLAIN}: {said or 'nothing to compare'}."


def rank_plot(corpus: Corpus) -> str:
    """The rank-frequency curve with head, torso and tail shaded."""
    curve = rank_frequency(corpus.labels.counts)
    bands, first = [], 1
    for name in ("head", "torso", "tail"):
        count = int(head_torso_tail(curve)[name].sum())
        if count:
            bands.append(Band(name, first, first + count - 1))
        first += count
    sizes = ", ".join(f"{band.last - band.first + 1:,.0f} {band.name}" for band in bands)
    return log_log_curve(
        curve.tolist(),
        title="Training rows of each label, most frequent label first",
        description=f"Both axes are logarithmic. Labels: {sizes or 'none with a row'}.",
        x_label="label rank",
        y_label="training rows",
        bands=bands,
    )


def _corpus(corpus: Corpus, found: CorpusReport) -> list[str]:
    labels = found.labels
    figures = [
        ["labels", f"{labels.labels:,}"],
        ["training rows a label, mean", f"{labels.rows_a_label:.2f}"],
        ["training rows a label, median", f"{labels.median_rows_a_label:.0f}"],
        ["labels without training rows", f"{labels.without_rows:,}"],
        ["labels with one row", f"{labels.with_1_row:,} ({labels.share_with_1_row:.1%})"],
        [
            "labels with at most 5 rows",
            f"{labels.with_at_most_5_rows:,} ({labels.share_with_at_most_5_rows:.1%})",
        ],
        ["test mass on unseen labels", f"{found.test_mass_on_unseen_labels:.1%}"],
    ]
    splits = [
        [name, f"{s.rows:,}", f"{s.labels_used:,}", f"{s.labels_a_row:.2f}", f"{s.words_a_text:.1f}"]
        for name, s in found.splits.items()
    ]
    header = ["split", "rows", "labels used", "labels a row", "words a text"]
    return [
        paragraph(ABOUT),
        table(header, splits, "Rows"),
        table(["", "figure"], figures, "Labels"),
        figure(rank_plot(corpus), "How many training rows each label has; both axes are logarithmic"),
        paragraph("Head: more than 50 training rows. Torso: 6 to 50. Tail: 1 to 5. Unseen: none."),
    ]


def _metrics(trials: Mapping[str, Trial]) -> list[str]:
    sizes = next(iter(trials.values())).metrics["slices"]
    slices = [name for name in sizes if sizes[name]["rows"]]
    overall = {name: [trial.metrics[column] for column in COLUMNS] for name, trial in trials.items()}
    parts = {
        name: [trial.metrics["slices"][part][column] for part in slices for column in SLICE_COLUMNS]
        for name, trial in trials.items()
    }
    of_parts = [f"{part} {column}" for part in slices for column in SLICE_COLUMNS]
    return [
        _compared("Overall, in percent; the best of each column is bold", COLUMNS, overall),
        _compared("By training rows of a label, in percent", of_parts, parts),
        paragraph(
            "popularity and label-matcher are floors: the most frequent labels whatever the text, and the "
            "nearest label texts by TF-IDF cosine."
        ),
    ]


def _compared(caption: str, header: Sequence[str], values: Mapping[str, Sequence[float]]) -> str:
    """Models as rows; the best value of a column stands out."""
    shown = [[f"{value:.2f}" for value in row] for row in values.values()]
    best = {
        (row, column + 1)
        for column in range(len(header))
        for row in range(len(shown))
        if shown[row][column] == max((cells[column] for cells in shown), key=float)
    }
    rows = [[name, *cells] for name, cells in zip(values, shown, strict=True)]
    return table(["model", *header], rows, caption, best)


def _gains(trials: Mapping[str, Trial], comparison: Comparison) -> list[str]:
    against = f"{AUGMENTED} against {PLAIN}"
    rows = [
        [name, f"{gain.mean:+.2f}", f"{gain.low:+.2f} to {gain.high:+.2f}", f"{gain.rows:,}", gain.in_words]
        for name, gain in comparison.by_slice.items()
    ]
    return [
        figure(
            gain_plot(comparison, against),
            f"R@{GAIN_AT} of {against}: points gained or lost, with 95 % intervals over the test rows",
        ),
        figure(recall_plot(trials), f"R@{GAIN_AT} of both twins beside the floors"),
        table(
            ["labels", "points", "95 % interval", "test rows", "so it is"],
            rows,
            f"R@{GAIN_AT} of {against}",
        ),
        paragraph(CAVEAT),
    ]


def gain_plot(comparison: Comparison, against: str) -> str:
    """What augmentation gained or lost, by label frequency."""
    gains = comparison.by_bucket.values()
    return bars(
        list(comparison.by_bucket),
        {against: [None if gain is None else gain.mean for gain in gains]},
        title=f"R@{GAIN_AT} gained by augmentation, by training rows of a label",
        description="Bars below zero are losses. Lines are 95 % intervals over the test rows.",
        x_label="training rows of the label",
        y_label=f"points of R@{GAIN_AT}",
        intervals={against: [None if gain is None else (gain.low, gain.high) for gain in gains]},
        first_colour=COLOUR_OF_AUGMENTED,
    )


def recall_plot(trials: Mapping[str, Trial]) -> str:
    """How much each model finds, by label frequency."""
    groups = list(BUCKETS)
    return bars(
        groups,
        {name: [trial.by_bucket[group] for group in groups] for name, trial in trials.items()},
        title=f"R@{GAIN_AT} of all models, by training rows of a label",
        description="Both twins beside the two floors, popularity and label-matcher.",
        x_label="training rows of the label",
        y_label=f"R@{GAIN_AT}, percent",
    )


def _example(example: Example) -> str:
    def side(heading: str, said: Sequence[tuple[str, bool]]) -> str:
        labels = "".join(
            f'<li class="right">{escaped(name)} \N{CHECK MARK} right</li>'
            if right
            else f"<li>{escaped(name)}</li>"
            for name, right in said
        )
        return f"<div><h3>{heading}</h3><ol>{labels or '<li>nothing</li>'}</ol></div>"

    change = "better" if example.better else "worse"
    both = side("without", example.before) + side("with gandalf", example.after)
    return (
        f'<article class="example"><p>{escaped(example.text)}</p>'
        f"<p>Right: {escaped('; '.join(example.right))}. With gandalf: {change}.</p>"
        f'<div class="sides">{both}</div></article>'
    )


def _how(seconds: Mapping[str, float], size: int | None, seed: int) -> list[str]:
    asked = MODELS[AUGMENTED]
    sized = "" if size is None else f" --size {size}"
    return [
        paragraph("The same again, or step by step in Python:"),
        commands([f"tailwright demo{sized} --seed {seed}"]),
        commands(
            [
                "import tailwright as tw",
                f"corpus = tw.demo_corpus(size={size}, seed={seed})",
                f'run = tw.train(corpus, "twin", settings={asked["settings"]}, seed={seed},',
                f"               augment={asked['augment']}, augment_settings={asked['augment_settings']})",
                'print(tw.evaluate(run, corpus.test)["R@10"])',
            ]
        ),
        table(
            ["model", "settings"],
            [
                [
                    name,
                    json.dumps(of_model.get("settings", {}) | of_model.get("augment_settings", {})),
                ]
                for name, of_model in MODELS.items()
            ],
            "Settings that differ from the defaults",
        ),
        table(
            ["step", "seconds"],
            [[name, f"{taken:.1f}"] for name, taken in seconds.items()],
            "Time; that of a model is training and testing",
        ),
    ]
