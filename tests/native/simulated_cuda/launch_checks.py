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


def joins():
    x = torch.arange(48 * 40, dtype=torch.float32).reshape(48, 40)
    for dtype in (torch.float32, torch.bfloat16, torch.uint8):
        t = x.to(dtype)
        for split, dim, along in ((4, 1, 0), (8, 1, 0), (5, 1, 0), (4, 1, 1), (4, 0, 1), (48, 0, 0), (40, 1, 0)):
            call = lambda t, n, d, to: torch.cat(t.chunk(n, d), to)
            found, told = work(call, t.cuda(), split, dim, along)
            same(found, call(t, split, dim, along))
            assert told == ["launch"] * (1 if split <= 32 or dim == 0 else 2), (split, told)
    several = [x[i : i + 1, : 3 + i % 2] for i in range(48)] + [x[:2, ::2], x[:1, 2:3].expand(3, 5)]
    for parts in ([p.reshape(-1) for p in several], several[:1] + [several[-1][:, :3]], [x[:, :3], x.t()[:, :3]] * 3):
        same(torch.cat([p.cuda() for p in parts]), torch.cat(parts))
    same(once(torch.stack, [x.cuda()] * 70), torch.stack([x] * 70))
    views = [t[:, :8] for t in (x, x + 1, x + 2)]
    same(
        once(torch.cat, [v.cuda().as_strided((4, 8), (40, 1)) for v in (x, x + 1)]),
        torch.cat([v[:4] for v in views[:2]]),
    )
    same(
        once(lambda *v: torch.cat([t[:, :8] for t in v], 1), x.cuda(), x.cuda() + 1, x.cuda() + 2), torch.cat(views, 1)
    )


def moves():
    x = torch.arange(6 * 5 * 8, dtype=torch.float32).reshape(6, 5, 8)
    image = torch.arange(2 * 4 * 6 * 8, dtype=torch.float32).reshape(2, 4, 6, 8)
    last = image.to(memory_format=torch.channels_last)
    for t in (x, x.bfloat16(), x.transpose(0, 2), x[:, 1:, ::2], x.to(torch.uint8), last):
        on_gpu = t.cuda()
        for shifts, dims in ((1, 0), (-2, 1), (3, 2), (0, 1), ((1, 1, -2), (0, 2, 0)), ((5, 9), (1, 2)), (-7, ())):
            call = lambda t, s, d: t.roll(s, d)
            found, told = work(call, on_gpu, shifts, dims)
            same(found, call(t, shifts, dims))
            assert found.stride() == call(t, shifts, dims).stride()
            assert dims == () or told == ["launch"], told
        for turns in (1, 2, 3, -1):
            call = lambda t, k: torch.rot90(t, k, (0, -1))
            found, told = work(call, on_gpu, turns)
            same(found, call(t, turns))
            assert found.stride() == call(t, turns).stride() and told == ["launch"]
    for t in (image, image.half(), image[..., 1:]):
        for pad in ((1, 1, 1, 1), (0, 2, 3, 0), (t.size(3), t.size(3)), (0, 0, 2, 1)):
            call = lambda t, p: torch.nn.functional.pad(t, p, mode="circular")
            own = t if len(pad) == 4 else t[0]
            same(once(call, own.cuda(), pad), call(own, pad))
    for pad in ((1, 2, 3, 0), (0, 8, 6, 0)):
        leaves = [image.clone().requires_grad_(), image.cuda().requires_grad_()]
        for t in leaves:
            out = torch.nn.functional.pad(t, pad, mode="circular")
            out.backward(torch.arange(out.numel(), dtype=torch.float32).reshape(out.shape).to(t.device))
        same(leaves[1].grad, leaves[0].grad)


def gradients_of_rows():
    rows = torch.tensor([3, 0, 3, 1, 3])
    columns = torch.tensor([0, 1, 0, 2, 2])
    calls = (
        lambda t, r, c: t[r],
        lambda t, r, c: t[r, c],
        lambda t, r, c: torch.nn.functional.embedding(r, t, padding_idx=1),
    )
    for call in calls:
        for twice in (False,) if call is calls[2] else (False, True):
            found = []
            for device in ("cpu", "cuda"):
                x = torch.arange(24.0).reshape(4, 6).to(device).requires_grad_()
                out = call(x, rows.to(device), columns.to(device))
                g = torch.arange(1.0, out.numel() + 1).reshape(out.shape).to(device).requires_grad_(twice)
                run = lambda out=out, x=x, g=g, t=twice: torch.autograd.grad(out, x, g, True, t)[0]
                grad, told = work(run) if device == "cuda" else (run(), [])
                found.append(grad if not twice else torch.autograd.grad((grad * grad).sum(), g)[0])
            assert twice or "copy" not in told, told  # the zeros are nobody else's
            same(found[1], found[0])
