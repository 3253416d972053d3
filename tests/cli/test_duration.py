"""Times as people write them."""

from __future__ import annotations

import pytest

from tailwright.cli.options import seconds_of
from tailwright.errors import InputError


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), (" 2 m ", 120), ("0.5h", 1800)])
def test_a_time_has_a_unit_or_is_in_seconds(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "ten", "-5m", "0", "0s", "5d", "1m30s", "inf", "nan"])
def test_what_is_no_time_is_named(text):
    with pytest.raises(InputError, match="expected such as 90s, 10m or"):
        seconds_of(text)
