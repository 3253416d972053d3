"""The memory estimate adds up its items and stops a fit that cannot run, with advice."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys

import pytest

from tailwright.errors import InputError
from tailwright.training.memory import MB, MemoryNeed, free_mb, give_back, resident_mb

NEED = MemoryNeed({"word vectors": 300 * MB, "a batch": 20 * MB})


def test_the_peak_is_what_is_held_plus_what_is_needed():
    assert NEED.megabytes == 320
    assert NEED.peak_mb(100) == 420
    assert NEED.peak_mb() == pytest.approx(resident_mb() + 320, abs=50)


def test_too_little_memory_is_one_line_that_names_the_largest_item():
    NEED.require("take less", available_mb=321)
    with pytest.raises(InputError, match=r"about 320 MB more, most of it for word vectors, .*take less"):
        NEED.require("take less", available_mb=319)


def test_the_machine_says_what_is_free():
    assert free_mb() > 1


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not glibc")
def test_what_was_freed_is_given_back():
    held = [bytearray(2000) for _ in range(100_000)]  # about 200 MB, too small for maps of their own
    full = resident_mb()
    # Every hundredth stays, so that the heap cannot shrink from its end.
    held = held[::100]
    kept = resident_mb()
    give_back()
    assert full - kept < 50
    assert full - resident_mb() > 100
    assert len(held) == 1000


FIT = """
import sys
from pathlib import Path
import tailwright as tw
from tailwright.models.twin import TwinSettings
from tailwright.models.twin.model import Twin
from tailwright.training.workplace import Workplace
Twin(TwinSettings(epochs=1)).fit(tw.read(sys.argv[1]), work=Workplace(Path(sys.argv[2])))
"""


def test_a_fit_on_real_data_peaks_within_a_quarter_of_the_estimate(real_data, tmp_path):
    subprocess.run([sys.executable, "-c", FIT, str(real_data / "cooking-se"), str(tmp_path)], check=True)
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    expected = next(event["expected_peak_mb"] for event in events if event["event"] == "memory")
    assert expected == pytest.approx(events[-1]["peak_rss_mb"], rel=0.25)
