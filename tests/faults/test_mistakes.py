"""What a user may get wrong is one line with exit code 2, before any work begins: places, numbers, times."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tailwright as tw
from tailwright.checks.corpora import tiny_corpus
from tailwright.cli import run as command
from tailwright.cli.failures import as_one_line
from tailwright.cli.options import seconds_of
from tailwright.errors import InputError, NoNumberError
from tailwright.evaluation import metrics_at_k, top_k_of_scores
from tailwright.runs import Ensemble


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus `data` and a run `run` of popularity."""
    folder = tmp_path_factory.mktemp("mistakes")
    tw.write(tiny_corpus(), folder / "data")
    tw.train(tiny_corpus(), "popularity", out=folder / "run")
    return folder


def said(capsys) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize("out", ["", ".", "/", "..", "data/.."])
@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_run_folder_needs_a_name(place, monkeypatch, capsys, out, overwrite):
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.rglob("*"))
    assert command(["train", "data", "--model", "popularity", "-q", "--out", out, *overwrite]) == 2
    assert re.fullmatch(r"tailwright: found the folder '.*', expected the name of a new one", said(capsys))
    assert sorted(path.name for path in place.rglob("*")) == before


def test_a_folder_of_others_is_refused_before_anything_is_trained(place, capsys, monkeypatch):
    monkeypatch.setattr("tailwright.models.popularity.Popularity.fit", None)
    words = ["train", str(place / "data"), "--model", "popularity", "--augment", "none", "-q", "--overwrite"]
    assert command([*words, "--out", str(place / "data")]) == 2
    assert "data: is no tailwright folder, so it is not overwritten" in said(capsys)
    assert sorted(path.name for path in place.iterdir()) == ["data", "run"]


def test_a_place_for_rows_that_is_taken_is_refused_before_they_are_made(place, capsys, monkeypatch):
    monkeypatch.setattr("tailwright.augment", None)
    words = ["augment", str(place / "data"), "--augment", "gandalf", "-q", "--out", str(place / "run")]
    assert command(words) == 2
    assert "run: exists already and is not empty, expected a new folder" in said(capsys)


@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "1.5", "1e400"])
def test_a_threshold_for_hard_labels_is_a_number_up_to_1(place, capsys, value):
    words = ["augment", str(place / "data"), "--augment", "gandalf", "-q", "--out", str(place / "new")]
    assert command([*words, "--binarise", value]) == 2
    assert re.fullmatch(r"tailwright: --binarise \S+, expected a number above 0, up to 1", said(capsys))


@pytest.mark.parametrize(
    "options", [["--seed", str(2**63)], ["--seed", "-1"], ["--threads", "0"], ["--threads", "1025"]]
)
def test_seeds_and_threads_have_two_ends(place, capsys, options):
    words = ["train", str(place / "data"), "--model", "popularity", "-q", "--out", str(place / "other")]
    assert command([*words, *options]) == 2
    assert f"Invalid value for '{options[0]}'" in said(capsys)


@pytest.mark.parametrize("time", ["0", "nan", "9" * 400 + "h", "-1", "367000h"])
def test_a_time_is_above_0_and_at_most_a_year(time):
    with pytest.raises(InputError, match=r"found the time .*, expected such as 90s"):
        seconds_of(time)


@pytest.mark.parametrize("k", [12, 10**30])
def test_k_above_the_number_of_labels_is_the_number_of_labels(place, capsys, k):
    run, texts = tw.load(place / "run"), ["apple bridge", "forest"]
    every = run.predict(texts, k=11)
    assert [len(ids) for ids in every.ids] == [11, 11]
    assert run.predict(texts, k=k).ids == every.ids
    assert run.top(texts, k).ids.shape == (2, 11)
    assert run.top(texts, k, allowed=np.arange(11) < 3).ids.shape == (2, 11)
    assert Ensemble((run, run)).top(texts, k).ids.shape == (2, 11)
    assert len(run.explain("apple", k=k, rows=0).labels) == 11
    metrics = tw.evaluate(run, tiny_corpus().train, ks=(1, k))
    assert metrics[f"R@{k}"] == pytest.approx(100)
    assert metrics["P@1"] == tw.evaluate(run, tiny_corpus().train)["P@1"]
    truth = tiny_corpus().train.targets
    assert (
        metrics_at_k(run.top(tiny_corpus().train.texts, k), truth, None, ks=(k,))[f"R@{k}"]
        == metrics[f"R@{k}"]
    )
    assert command(["predict", str(place / "run"), "apple bridge", "--k", str(k), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["ids"] == every.ids[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_to_a_full_device_is_no_bug(capfd):
    out = os.dup(1)
    with Path("/dev/full").open("w") as full:
        os.dup2(full.fileno(), 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdout", os.fdopen(1, "w", closefd=False))
            code = command(["augmenters"])
            sys.stdout.flush()  # as Python does when it ends
    os.dup2(out, 1)
    assert code == 1
    line = "standard output: No space left on device; make room on the disk, or write elsewhere"
    assert capfd.readouterr().err == f"tailwright: {line}\n"


class _TorchError(RuntimeError):
    pass


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        np._core._exceptions._ArrayMemoryError((10**9,), np.dtype(np.float32)),
        _TorchError(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried"
        ),
        _TorchError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        ImportError("libtorch.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_whatever_fails_for_want_of_memory_says_so_and_what_to_lower(error):
    line = as_one_line(error)
    assert line.exit_code == 2
    assert re.match(r"not enough memory( \(.*\))?, expected less work at a time: lower settings", str(line))


def test_a_library_that_only_says_that_it_could_not_be_loaded_has_too_little_memory():
    """As llvmlite does where the address space is small."""
    try:
        try:
            raise OSError("libllvmlite.so: failed to map segment from shared object")
        except OSError:
            raise OSError("Could not find/load shared object file 'libllvmlite.so'")  # noqa: B904
    except OSError as error:
        line = str(as_one_line(error))
    assert line.startswith("not enough memory (Could not find/load shared object file 'libllvmlite.so')")


def test_errors_behind_each_other_have_an_end():
    one, other = OSError("one"), OSError("other")
    one.__context__, other.__cause__ = other, one
    assert as_one_line(one) is None


def test_the_command_says_memory_where_a_model_runs_out_of_it(place, capsys, monkeypatch):
    def greedy(*arguments, **options):
        raise MemoryError("Unable to allocate 3.73 GiB")

    monkeypatch.setattr("tailwright.models.popularity.Popularity.learn", greedy)
    words = ["train", str(place / "data"), "--model", "popularity", "--augment", "none", "-q"]
    assert command([*words, "--out", str(place / "greedy")]) == 2
    assert said(capsys).startswith(
        "tailwright: not enough memory (Unable to allocate 3.73 GiB), expected less"
    )


def test_scores_of_a_training_that_diverged_are_no_bug(place, capsys, monkeypatch):
    def diverged(self, texts, k):
        return top_k_of_scores(np.full((len(texts), 11), np.nan, np.float32), k)

    monkeypatch.setattr("tailwright.models.popularity.Popularity.predict", diverged)
    assert command(["predict", str(place / "run"), "apple", "-q"]) == 2
    line = f"tailwright: {place / 'run'}: popularity gives scores that are no finite numbers, expected a run"
    assert said(capsys) == f"{line} that is not damaged, and was trained at a lower rate"
    trained = tw.train(["red shoes", "wool hat"], [["shoes"], ["hats"]], model="popularity")
    with pytest.raises(NoNumberError, match="row 0 has a score that is NaN; a lower learning rate may help"):
        trained.predict("apple")


def test_ctrl_c_says_where_the_work_is_and_how_to_go_on(place, capsys, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tailwright.models.popularity.Popularity.learn", stopped)
    words = ["train", str(place / "data"), "--model", "popularity", "--augment", "none", "-q"]
    assert command([*words, "--out", str(place / "stopped")]) == 130
    assert capsys.readouterr().err.strip() == (
        f"tailwright: stopped; the work so far is in {place / 'stopped.partial'}, "
        "and the same command with --resume goes on"
    )
    monkeypatch.undo()
    assert command([*words, "--out", str(place / "stopped"), "--resume"]) == 0


def test_ctrl_c_before_anything_was_done_says_that_too(place, capsys, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tailwright.augment", stopped)
    words = ["augment", str(place / "data"), "--augment", "gandalf", "-q", "--out", str(place / "never")]
    monkeypatch.setenv("TAILWRIGHT_SHARED", str(place / "empty"))
    assert command(words) == 130
    line = "tailwright: stopped; no corpus was written, and the same command goes on"
    assert capsys.readouterr().err.strip() == line


def test_a_damaged_recommendation_is_refused(place, capsys):
    words = ["train", str(place / "data"), "--model", "popularity", "-q", "--budget", "1s", "--resume"]
    for content in (b"", b"{", b"[]", b'{"augment": 1, "settings": {}, "reason": ""}'):
        (place / "advised.advice.json").write_bytes(content)
        assert command([*words, "--out", str(place / "advised")]) == 2
        assert "advised.advice.json: found no recommendation, expected" in said(capsys)
