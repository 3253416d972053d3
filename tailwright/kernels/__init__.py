"""Numba kernels, each tested against a plain twin."""

import os

from tailwright.kernels.compiling import announce

announce()

# Kernels and torch each have a pool of threads. By default an idle OpenMP thread spins and takes the core
# that the other pool waits for: a fit of `twin` beside other work took 29 s, and 1.3 s with sleeping threads.
# Set before any kernel, as it is read when an OpenMP library is loaded; a user's own setting is kept.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
