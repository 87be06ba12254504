"""Norms and distances: values by NumPy, gradients, empty matrices."""

from __future__ import annotations

import math

import numpy as np

import shim_torch as torch

L = torch.linalg


def test_norms_of_empty_matrices():
    for ord in (1, 2, math.inf, "fro", "nuc"):
        assert L.norm(torch.zeros(0, 0), ord).item() == 0
    assert L.matrix_norm(torch.zeros(2, 0, 3), math.inf).tolist() == [0, 0]


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )
