"""`tailwright graph`: the label correlation graph of a corpus, as a file, in words and as a picture."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tailwright.cli.hints import free_name, trained_on
from tailwright.cli.options import CorpusPath, Seed, command
from tailwright.cli.output import Output
from tailwright.cli.reading import Reading
from tailwright.errors import InputError
from tailwright.settings import settings_from

if TYPE_CHECKING:
    from scipy import sparse

    from tailwright.data.corpus import Corpus, LabelSpace
    from tailwright.labels import GraphSettings


@command
def graph(
    out: Output,
    read: Reading,
    path: CorpusPath,
    out_file: Annotated[
        Path | None, typer.Option("--out", metavar="G.npz", help="Write the graph here, for scipy.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="LABEL", help="List the neighbours of LABEL.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg|html", help="Draw a label among its neighbours."),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="The label to draw.", show_default="the explained one")
    ] = None,
    steps: Annotated[int, typer.Option("--steps", help="Hops of the walk from each label.")] = 400,
    restart: Annotated[
        float, typer.Option("--restart", help="Probability to start again at the label.")
    ] = 0.8,
    top: Annotated[int, typer.Option("--top", help="Edges kept a label.")] = 10,
    head_cut: Annotated[
        int, typer.Option("--head-cut", help="Labels on more rows than this get no neighbours.")
    ] = 500,
    method: Annotated[
        str, typer.Option("--method", help="walk (random, seeded) or series (its exact expectation).")
    ] = "walk",
    seed: Seed = 0,
) -> None:
    """Which labels go together: walk from each label over the training rows it shares with others.

    The file is a scipy sparse matrix (labels x labels), for `scipy.sparse.load_npz`. A label is given by its
    id or by its name.

    Example: `tailwright graph data/ --out graph.npz --explain "red shoes" --plot red-shoes.svg`
    """
    if out_file is None and explain is None and plot is None:
        raise InputError("nothing to do", expected="--out, --explain or --plot")
    drawn = label or explain
    if plot is not None and drawn is None:
        raise InputError("no label to draw", expected="--label or --explain")

    from tailwright.labels import GraphSettings, correlation_graph
    from tailwright.labels.correlation import save_graph
    from tailwright.labels.lookup import LabelLookup
    from tailwright.study.page.neighbourhood import refuse_unwritable_drawing

    if plot is not None:
        refuse_unwritable_drawing(plot)
    settings = settings_from(
        GraphSettings,
        {"steps": steps, "restart": restart, "top": top, "head_cut": head_cut, "method": method},
    )
    corpus = read.all_rows(path, seed)
    lookup = LabelLookup(corpus.labels)
    columns = {asked: lookup.column_of(asked) for asked in (explain, drawn) if asked is not None}
    start = time.perf_counter()
    matrix = correlation_graph(corpus.train.originals().targets, seed=seed, **asdict(settings))
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {
        "path": str(path),
        "method": method,
        "labels": matrix.shape[0],
        "edges": int(matrix.nnz),
        "seconds": round(seconds, 3),
    }
    out.text(f"{matrix.shape[0]:,} labels, {matrix.nnz:,} edges in {seconds:.1f} s")
    if out_file is not None:
        save_graph(matrix, out_file)
        out.note(f"wrote {out_file}")
        result["out"] = str(out_file)
    if explain is not None:
        result["explain"] = show_neighbours(out, matrix, corpus, columns[explain], settings)
    if plot is not None and drawn is not None:
        draw_neighbours(matrix, corpus.labels, columns[drawn], plot)
        out.note(f"wrote {plot}")
        result["plot"] = str(plot)
    if words := read.again(path, seed):
        if explain is None:
            most = corpus.labels.ids[int(corpus.labels.counts.argmax())].as_py()
            out.next("graph", *words, f"--explain={most}")
        elif plot is None:
            out.next("graph", *words, f"--explain={explain}", "--plot", free_name("neighbours.svg"))
        else:
            out.next(*trained_on(words))
    out.result(**result)


def show_neighbours(
    out: Output, matrix: sparse.csr_array, corpus: Corpus, column: int, settings: GraphSettings
) -> dict[str, Any]:
    """Print a label's neighbours for people, and give the same for the JSON result."""
    from tailwright.labels.annotations import neighbours, shared_rows

    labels = corpus.labels
    name, rows = labels.names[column].as_py(), int(labels.counts[column])
    edges = neighbours(matrix, column)
    shared = shared_rows(corpus.train.originals().targets, column)
    out.text(f"\n{name} (id {labels.ids[column].as_py()}) is on {rows:,} training rows.")
    if rows == 0:
        out.text("So it has no neighbours; its text is annotated with itself alone.")
    elif rows > settings.head_cut:
        out.text(f"That is more than {settings.head_cut:,} (--head-cut), so it has only itself.")
    else:
        walk = settings.method == "walk"
        hops = f"{settings.steps:,} hops from it end" if walk else "hops from it end, on average"
        weights = (f"{edge.weight:,.0f}" if walk else f"{edge.weight:.2%}" for edge in edges)
        out.text(f"Where {hops}:")
        out.table(
            ["label", "hops", "soft target", "rows", "shared rows"],
            [
                [
                    "itself" if edge.column == column else labels.names[edge.column].as_py(),
                    weight,
                    f"{edge.target:.2f}" if edge.target else "none",
                    f"{labels.counts[edge.column]:,}",
                    f"{shared[edge.column]:,}",
                ]
                for edge, weight in zip(edges, weights, strict=True)
            ],
        )
    return {
        "id": labels.ids[column].as_py(),
        "name": name,
        "rows": rows,
        "neighbours": [
            {
                "id": labels.ids[edge.column].as_py(),
                "name": labels.names[edge.column].as_py(),
                "weight": edge.weight,
                "target": edge.target,
            }
            for edge in edges
        ],
    }


def draw_neighbours(matrix: sparse.csr_array, labels: LabelSpace, column: int, path: Path) -> None:
    """Write the label among its neighbours as a picture, with lines between those that are neighbours too."""
    from tailwright.labels.annotations import neighbours
    from tailwright.study.page.neighbourhood import Node, neighbourhood, write_drawing

    edges = [edge for edge in neighbours(matrix, column, threshold=0) if edge.column != column]
    nodes = [
        Node(labels.names[edge.column].as_py(), edge.target, int(labels.counts[edge.column]))
        for edge in edges
    ]
    places = [edge.column for edge in edges]
    among = matrix[places][:, places]
    pairs = {(min(pair), max(pair)) for pair in zip(*among.nonzero(), strict=True) if pair[0] != pair[1]}
    picture = neighbourhood(
        labels.names[column].as_py(),
        nodes,
        sorted((int(one), int(other)) for one, other in pairs),
        description="Neighbours of the label in the correlation graph, the strongest on top, then clockwise.",
    )
    write_drawing(path, picture, nodes)
