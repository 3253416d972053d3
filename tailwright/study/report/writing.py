"""`write_report`: from outcomes to one file that asks the network for nothing.

Data reaches the scripts as JSON in elements that are never run, with every sign escaped that could end one.
The content policy lists the page's scripts by hash: nothing else runs, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tailwright.data.corpus import Corpus
from tailwright.errors import InputError, MissingExtraError
from tailwright.runs.run import library_versions
from tailwright.runs.tail import Tail
from tailwright.study.compare.comparisons import Comparison, compare_all
from tailwright.study.compare.tables import other_code
from tailwright.study.page.html import refuse_unwritable, render, write_page
from tailwright.study.plan.cells import BASELINE, Cell
from tailwright.study.report.closeness import closeness_section
from tailwright.study.report.cost import cost_section
from tailwright.study.report.curves import curves_section
from tailwright.study.report.distribution import distribution_section
from tailwright.study.report.explorer import explorer_section
from tailwright.study.report.gains import gains_section
from tailwright.study.report.headline import PSP, headlines
from tailwright.study.report.metrics import metrics_section, verdicts
from tailwright.study.report.neighbours import neighbours_section
from tailwright.study.report.sections import Section, colours_of, percent
from tailwright.study.run.display import in_words
from tailwright.study.run.exam import Exam, read_source, source_of
from tailwright.study.run.outcomes import Outcome, outcome_of_run

METRICS = ("P@1", "P@5", "nDCG@5", "PSP@1", "PSP@5", "R@10")
_SCRIPTS = ("tables.js", "views.js", "explorer.js")
_SURROGATES = re.compile("[\ud800-\udfff]")
# As escapes they are the same JSON; as they are, they could end the element or a line of script.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def write_report(
    path: Path,
    outcomes: Sequence[Outcome],
    exams: Mapping[str, Exam],
    *,
    title: str = "Tailwright report",
    metrics: Sequence[str] = METRICS,
    comparisons: Sequence[Comparison] | None = None,
    failed: Mapping[str, str] | None = None,
    left_out: Sequence[str] = (),
    command: str = "",
) -> None:
    """Write one HTML file that needs no network: all of it or nothing.

    `exams` are by dataset; `comparisons` are what `compare_all` gave for these outcomes, if it was called
    before; `failed` maps titles of cells to errors, and `command` repeats it all. Sections that have nothing
    to show are left out, and a line at the top says why.
    """
    if not outcomes:
        raise InputError("found no finished cell", expected="at least one to report on", path=path)
    refuse_unwritable(path)
    plotly_js()  # if it is missing, that is said before the work and not after it
    colours = colours_of(outcome.cell.augmentation for outcome in outcomes)
    if comparisons is None:
        comparisons = compare_all(outcomes, exams, metrics)
    sections: dict[str, Section | None] = {
        "metrics": metrics_section(comparisons),
        "gain by label frequency (nothing to compare with: no baseline, or nothing but it)": gains_section(
            outcomes, exams, colours, comparisons[0].against
        ),
        "label distribution (no rows were added)": distribution_section(outcomes, colours),
        "training curves (no training logged epochs)": curves_section(outcomes, colours),
        "similarities (no run of a model with text vectors)": closeness_section(outcomes, exams),
        "label graph (no label has a companion)": neighbours_section(exams),
        "predictions": explorer_section(outcomes, exams),
        "cost": cost_section(outcomes, colours),
        "making": making_section(outcomes, failed or {}, left_out, command),
    }
    lead = [*headlines(comparisons), f"{PSP} {_sizes(outcomes)} {verdicts(comparisons)}".rstrip()]
    lead += dict.fromkeys(sentence for table in comparisons for sentence in other_code(table))
    missing = [why for why, section in sections.items() if section is None]
    if missing:
        lead.append(f"Not here, as there is nothing to show: {'; '.join(missing)}.")
    write_page(path, document(title, lead, [section for section in sections.values() if section is not None]))


def _sizes(outcomes: Sequence[Outcome]) -> str:
    """What was tried, in numbers."""
    counts = {
        "dataset": len({outcome.cell.dataset for outcome in outcomes}),
        "model": len({outcome.cell.system for outcome in outcomes}),
        "augmentation": len({outcome.cell.augmentation for outcome in outcomes} - {BASELINE}),
        "trained cell": len(outcomes),
    }
    sizes = [f"{count:,} {name}{'s' * (count != 1)}" for name, count in counts.items()]
    return f"{', '.join(sizes[:-1])}; {sizes[-1]}."


def making_section(
    outcomes: Sequence[Outcome], failed: Mapping[str, str], left_out: Sequence[str], command: str
) -> Section:
    """How it was made: every cell, what failed or was left out, versions, and the command that repeats it."""
    html = render(
        __package__,
        "making.html.j2",
        outcomes=outcomes,
        failed=failed,
        left_out=left_out,
        command=command,
        time=in_words(sum(outcome.train_seconds + outcome.predict_seconds for outcome in outcomes)),
        cells=[_row(outcome) for outcome in outcomes],
        versions=library_versions(),
    )
    return Section("making", "How it was made", html)


def _row(outcome: Outcome) -> list[str]:
    cell = outcome.cell
    return [
        cell.dataset,
        percent(cell.fraction),
        cell.system,
        cell.augmentation,
        str(cell.seed),
        f"{outcome.n_train:,}",
        f"{outcome.n_augmented:,}",
        f"{outcome.train_seconds:,.1f}",
        f"{outcome.peak_rss_mb:,.0f}",
        outcome.key,
    ]


def document(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page; `lead` are the paragraphs before the first section."""
    data: dict[str, Any] = {
        "views-data": {box.name: box.as_dict() for section in sections for box in section.views}
    }
    for section in sections:
        data |= section.scripts
    assets = resources.files(__package__) / "assets"
    scripts = [plotly_js(), *((assets / name).read_text(encoding="utf-8") for name in _SCRIPTS)]
    return render(
        __package__,
        "report.html.j2",
        title=title,
        lead=lead,
        sections=sections,
        policy=_policy(scripts),
        data={name: json_text(values) for name, values in data.items()},
        scripts=[Markup(script) for script in scripts],
    )


def json_text(values: Any) -> Markup:
    r"""Values as JSON that can stand inside a script element.

    >>> json_text({"label": "</script>"})
    Markup('{"label":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text).translate(_ESCAPES))


def plotly_js() -> str:
    """The script that draws; the package that carries it is an extra."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report") from error
    # Its own text must not end the element it stands in.
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    rules = {
        "default-src": "'none'",
        "script-src": hashes,
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def picked_outcomes(
    runs: Sequence[Path], data: Path | None = None, tail: Tail = 0.0
) -> tuple[list[Outcome], dict[str, Exam]]:
    """An outcome for each run folder, and the exam of each dataset by its name.

    Test rows are those of `data`, or of what each run was trained on. Runs that differ in something that
    titles do not show, such as settings, are told apart by the names of their folders.
    """
    corpora: dict[str, Corpus] = {}
    outcomes: list[Outcome] = []
    exams: dict[str, Exam] = {}
    for folder in runs:
        source = source_of(folder) if data is None else str(data)
        if source not in corpora:
            corpora[source] = read_source(source)
        corpus = corpora[source]
        outcome = outcome_of_run(folder, corpus, tail)
        name = outcome.cell.dataset
        if exams.setdefault(name, Exam(name, corpus)).corpus is not corpus:
            raise InputError(f"found two datasets called {name}", expected="runs on one of them", path=folder)
        outcomes.append(outcome)
    titles = Counter(outcome.cell.title for outcome in outcomes)
    for place, (outcome, folder) in enumerate(zip(outcomes, runs, strict=True)):
        if titles[outcome.cell.title] > 1:
            outcomes[place] = replace(outcome, cell=_told_apart(outcome.cell, folder.name))
    return outcomes, exams


def _told_apart(cell: Cell, folder: str) -> Cell:
    """The cell under a name of its own, so that it has a line of its own."""
    if cell.augmentation == BASELINE:
        return replace(cell, variant=f"{cell.variant}, {folder}" if cell.variant else folder)
    return replace(cell, augmentation=f"{cell.augmentation} ({folder})")
