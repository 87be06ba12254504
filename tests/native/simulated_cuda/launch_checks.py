"""Calls that are as few launches as they can be on the simulated driver, and what they give."""

import ctypes
import sys
from pathlib import Path

import shim_torch as torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))
import philox

driver = ctypes.CDLL("libcuda.so.1")
driver.simulated_calls.restype = ctypes.c_char_p


def work(f, *given):
    """What f gives, and what it asked the driver for: launches, and copies of memory to memory or to the host."""
    f(*given)  # compiles
    driver.simulated_trace(1)
    found = f(*given)
    told = driver.simulated_calls().decode()
    driver.simulated_trace(0)
    return found, [c.split()[0] for c in told.split("; ") if c.startswith(("launch", "copy"))]


def once(f, *given):
    found, told = work(f, *given)
    assert told == ["launch"], told
    return found


def same(found, expected, **bounds):
    torch.testing.assert_close(found.cpu(), expected.cpu(), **(bounds or {"rtol": 0, "atol": 0}), equal_nan=True)


def draws():
    g = torch.Generator("cuda")
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        x = torch.empty(1003, dtype=dtype, device="cuda")
        whole = torch.from_numpy(philox.integers(7, 1003, -3, 100)).to(dtype)
        same(once(lambda t: t.random_(-3, 97, generator=g.manual_seed(7)), x), whole)
        plain = torch.empty_like(x).normal_(0.5, 2.0, generator=g.manual_seed(7)).cpu()
        found = once(lambda t: t.log_normal_(0.5, 2.0, generator=g.manual_seed(7)), x)
        same(found, plain.exp(), rtol=1e-5 if dtype != torch.bfloat16 else 0.01, atol=0)
        unit = x.exponential_(generator=g.manual_seed(7)).cpu()
        found = once(lambda t: t.exponential_(2.0, generator=g.manual_seed(7)), x)
        same(found, unit / 2)


def creation():
    for size in ((64,), (3, 7), (7, 3), (1, 1), (33, 129)):
        for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.float64, torch.uint8):
            same(once(lambda n, t: torch.eye(*n, dtype=t, device="cuda"), size, dtype), torch.eye(*size, dtype=dtype))
    assert torch.eye(0, 3, device="cuda").shape == (0, 3)
