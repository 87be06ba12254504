"""Fixtures of several files."""

from kernel_runs import simulated_libraries, store

__all__ = ["simulated_libraries", "store"]
