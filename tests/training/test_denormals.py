"""Numbers too small for full precision count as zero while torch works, and nowhere else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tailwright.training.denormals import denormals_as_zero, flushes_denormals
from tailwright.training.threads import torch_threads


def test_denormals_are_zero_within_the_block_in_its_threads_too_and_numbers_again_behind_it():
    assert not flushes_denormals()
    with denormals_as_zero() as possible:
        if not possible:
            pytest.skip("this processor cannot be told to")
        assert flushes_denormals()
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(flushes_denormals).result()
        with denormals_as_zero():
            pass
        assert flushes_denormals()  # of the outer block
    assert not flushes_denormals()


def test_a_fit_or_prediction_with_torch_has_no_denormals():
    tiny, half = torch.full((1000,), 1e-38), torch.tensor(0.5)
    with denormals_as_zero() as possible:
        if not possible:
            pytest.skip("this processor cannot be told to")
    assert (tiny * half > 0).all()
    with torch_threads(2):
        assert (tiny * half == 0).all()


def test_the_block_gives_back_what_was_there_if_it_fails():
    with pytest.raises(ZeroDivisionError), denormals_as_zero():
        _ = 1 / 0
    assert not flushes_denormals()
