"""What the tests of linear on a GPU share: random operands, float64 on the host, bounds."""

from __future__ import annotations

import math

import numpy as np

import shim_torch as torch

EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23, torch.float64: 2.0**-52}
DTYPES = list(EPS)


def random(rng, *shape, dtype=torch.float32):
    """Normal numbers, rounded to the dtype on the host, on the device."""
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(dtype).to("cuda")


def numbers(t):
    return t.detach().cpu().to(torch.float64).numpy()


def close(got, want, dtype, k=1, scale=None, product=None):
    """Two roundings of the result, and the rounding of sums of k products whose size is about ``scale``.

    ``product``: what is rounded before the bias is added, where the bias cannot be added in the same pass (misaligned).
    """
    got = numbers(got)
    assert got.shape == want.shape
    error, own = np.abs(got - want), EPS[torch.float64 if dtype is torch.float64 else torch.float32]
    bound = (
        2 * EPS[dtype] * np.abs(want)
        + 8 * np.sqrt(max(k, 1)) * own * (scale if scale is not None else math.sqrt(max(k, 1)) * 4)
        + 1e-30
    )
    if product is not None:
        bound += EPS[dtype] * np.abs(product)
    assert (error <= bound).all(), f"worst {(error / bound).max()} of the bound; {error.max()}"
