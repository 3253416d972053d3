"""Numba kernels, each tested against a plain twin."""

import os

# Kernels and torch have a pool of threads each. By default an idle OpenMP thread spins, and takes the core
# that the other pool waits for: a fit of `twin` beside other work took 29 s, and 1.3 s with sleeping threads.
# Read when an OpenMP library is loaded, hence before any kernel; a user's own setting stands.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
