"""Random operands on the simulated GPU, and how results are compared with float64 on the host."""

from __future__ import annotations

import numpy as np

import shim_torch as torch

EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-22, torch.float64: 2.0**-50}
rng = np.random.default_rng(0)


def random(*shape, dtype=torch.float32):
    return torch.from_numpy(rng.standard_normal(shape).astype(np.float32)).to(dtype).to("cuda")


def numbers(t):
    """In float64 on the host; a strided tensor's whole memory is fetched, as strided copies on a device are CuPy's part."""
    if t.is_cuda and not t.is_contiguous():
        whole = torch.as_strided(t.detach(), (t.untyped_storage().nbytes() // t.element_size(),), (1,), 0)
        t = torch.as_strided(whole.cpu(), t.shape, t.stride(), t.storage_offset())
    return t.detach().cpu().to(torch.float64).numpy()


def close(got, want, dtype, slack=4.0):
    got = numbers(got)
    assert got.shape == want.shape, (got.shape, want.shape)
    bound = slack * EPS[dtype] * (np.abs(want) + np.sqrt(np.mean(want**2)) if want.size else 1)
    assert (np.abs(got - want) <= bound + 1e-12).all(), np.abs(got - want).max()
