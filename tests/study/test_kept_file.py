"""The files of kept outcomes: damaged and lying ones are refused, and what is replaced is gone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from kept_study import PLAN, bytes_of, finished_and_kept
from toy_study import plan_of

from tailwright.cli import run
from tailwright.errors import InputError
from tailwright.study.run import kept_file
from tailwright.study.run.keeping import keep_outcomes, take_outcomes
from tailwright.study.run.outcomes import load_outcome, outcomes_of
from tailwright.study.run.runner import Study, prepared


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A finished study of four cells, and what it keeps."""
    return finished_and_kept(tmp_path_factory.mktemp("keeping"))


@pytest.fixture
def kept(place, tmp_path) -> Path:
    """A copy of the kept outcomes, to be damaged."""
    return Path(shutil.copytree(place / "kept", tmp_path / "kept"))


@pytest.fixture
def empty(place, tmp_path) -> Study:
    """The same study in a new folder."""
    return prepared(plan_of(place, PLAN), tmp_path / "study")


def rewritten(path: Path, change) -> None:
    """A kept outcome whose facts or ranking somebody changed, with a digest that fits."""
    facts = kept_file.read_facts(path)
    values = json.loads(json.dumps(facts.values))
    top = np.array(pq.read_table(path)["labels"].to_pylist(), dtype=np.int32)
    top = change(values, top)
    raw = kept_file.encode(values, indent=None)
    digest = kept_file._digest(raw, top)
    labels = kept_file.pa.array(top.tolist(), kept_file.pa.list_(kept_file.pa.int32()))
    table = kept_file.pa.table([labels], schema=kept_file._LABELS)
    kept_file._write(path, table, {kept_file.FACTS: raw, kept_file.DIGEST: digest.encode()})


def better(values, top):
    values["result"]["metrics"]["P@1"] += 1
    return top


def other_slices(values, top):
    values["result"]["metrics"]["slices"] = []
    return top


def not_a_number(values, top):
    values["result"]["metrics"]["nDCG@1"] = "much"
    return top


def other_seed(values, top):
    values["cell"]["seed"] = 7
    return top


def other_rows(values, top):
    values["result"]["n_train"] += 1
    return top


def searched(values, top):
    values["result"]["searched"] = {"gandalf.weight=3": 1.0}
    return top


def a_way_out(values, top):
    values["counts"] = "../../elsewhere"
    return top


def no_epoch(values, top):
    values["log"].append({"time": 1.0, "event": "epoch", "phase": "fit", "epoch": "one"})
    return top


def fewer_rows(values, top):
    values["shape"][0] -= 1
    return top[:-1]


def no_label(values, top):
    top[0, 0] = 1000
    return top


def twice(values, top):
    top[0, 1] = top[0, 0]
    return top


def a_gap(values, top):
    top[0, 0] = -1
    return top


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (better, r"found P@1 .*, expected \d"),
        (other_slices, "found metrics .*, expected numbers, by slice"),
        (not_a_number, "found metrics .*, expected numbers"),
        (other_seed, "found another cell, expected the one that the file is named after"),
        (other_rows, r"found .* training rows, or other counts of labels, expected the"),
        (searched, "found other settings that were searched"),
        (a_way_out, "found the counts '../../elsewhere', expected the name of a file"),
        (no_epoch, "in the log, expected an event of a training"),
        (fewer_rows, "found a ranking of"),
        (no_label, "found a label that is none, expected numbers from -1 to 10"),
        (twice, "found a label twice in one row"),
        (a_gap, "found a label behind the last"),
    ],
)
def test_a_lying_file_is_refused_in_one_line_and_nothing_is_taken(
    place, kept, empty, change, message, capsys
):
    path = kept_file.place_of(kept, name_of_first(empty))
    rewritten(path, change)
    arguments = ["study", str(place / "plan.toml"), "--out", str(empty.folder), "--from", str(kept), "-q"]
    assert run(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tailwright: {path}: ")
    with pytest.raises(InputError, match=message):
        take_outcomes(empty, kept)
    assert not empty.folder.exists()


def name_of_first(study: Study) -> str:
    """The name of the first cell's file."""
    key, cell = study.cells[0]
    return cell.asked(study.made[key].data)


def fewer_metrics(values, top):
    del values["result"]["metrics"]["slices"]["tail"]
    del values["result"]["metrics"]["nDCG@5"]
    return top


def test_metrics_that_earlier_code_did_not_have_come_from_the_ranking(place, kept, empty):
    rewritten(kept_file.place_of(kept, name_of_first(empty)), fewer_metrics)
    take_outcomes(empty, kept)
    (key, _), *_ = empty.cells
    assert load_outcome(empty.place(key)).metrics == load_outcome(place / "study" / "cells" / key).metrics


def test_damaged_files_are_refused_in_one_line(kept, empty):
    path = kept_file.place_of(kept, name_of_first(empty))
    whole = path.read_bytes()
    for damaged in (b"", b"PAR1", whole[: len(whole) // 2], whole[:40] + b"\xff" * 8 + whole[48:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=str(path)):
            take_outcomes(empty, kept)
    path.write_bytes(whole)
    for counts in (kept / "counts").iterdir():
        counts.write_bytes(counts.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"counts.*is no Parquet file, or a damaged one"):
        take_outcomes(empty, kept)
    shutil.rmtree(kept / "counts")
    with pytest.raises(InputError, match=r"counts.*is missing"):
        take_outcomes(empty, kept)
    assert not empty.folder.exists()
    shutil.rmtree(kept)
    with pytest.raises(InputError, match="found no outcomes, expected what `tailwright study --keep` wrote"):
        take_outcomes(empty, kept)


def test_a_damaged_file_is_written_anew(place, kept, empty):
    path = kept_file.place_of(kept, name_of_first(empty))
    path.write_bytes(b"PAR1")
    assert keep_outcomes(prepared(plan_of(place, PLAN), place / "study"), kept).written == 1
    assert bytes_of(kept) == bytes_of(place / "kept")


def test_what_is_replaced_leaves_no_counts_behind(place, kept, empty):
    study = prepared(plan_of(place, PLAN), place / "study")
    (key,) = study.keys("popularity / gandalf")
    outcome = load_outcome(study.place(key))
    changed = replace(outcome, augmented_counts=outcome.augmented_counts + 1)
    before = bytes_of(kept)
    assert kept_file.write_kept(changed, study.made[key], kept)
    assert len(bytes_of(kept)) == len(before) + 1
    keep_outcomes(study, kept)
    assert bytes_of(kept) == before


def test_a_loss_that_is_no_number_stays_behind(place, tmp_path):
    outcome = outcomes_of(place / "study")[0]
    log = ({"time": 1.0, "event": "epoch", "phase": "fit", "epoch": 1, "loss": float("nan")}, *outcome.log)
    kept_file.write_kept(replace(outcome, log=log), outcome.made, tmp_path)
    facts = kept_file.read_facts(next((tmp_path / "cells").iterdir()))
    assert facts.values["log"] == list(outcome.log)
