"""Calls that are as few launches as they can be on the simulated driver, and what they give."""

import ctypes

import shim_torch as torch

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
    nothing = torch.empty(0)
    cache = lambda *t: torch.cat(t, -2)
    same(once(cache, nothing.cuda(), x.cuda()), x)
    for mixed in ([x, x.int()], [x.half(), x.bfloat16(), nothing], [nothing.double(), x], [nothing, nothing.int()]):
        same(torch.cat([t.cuda() for t in mixed]), torch.cat(mixed))


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
        lambda t, r, c: t.gather(1, torch.stack([c % 2, c]).long()),
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


def selections():
    torch.manual_seed(0)
    F = torch.nn.functional
    classes = torch.randint(0, 7, (5, 3))
    for t in (classes, classes[0], classes[0, 0]):
        same(once(F.one_hot, t.cuda(), 7), F.one_hot(t, 7))
        same(F.one_hot(t.cuda()), F.one_hot(t))
    same(F.one_hot(classes.t().cuda(), 9), F.one_hot(classes.t(), 9))
    assert F.one_hot(classes.cuda(), 3).sum() == (classes < 3).sum()
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.randn(6, 40, dtype=torch.float64).to(dtype)
        x[0, :6] = torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-38])
        (mantissa, exponent), told = work(torch.frexp, x.cuda())
        for found, expected in zip((mantissa, exponent), torch.frexp(x), strict=True):
            same(found, expected)
        assert told == ["launch"]
    extremes(torch.randn(6, 40))
    for q in (0.9, torch.tensor([0.0, 0.5, 1.0])):
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            quantile(q, how)


def extremes(x):
    big = torch.randn(3, 40000)
    for t in (x, x.bfloat16(), (x * 100).long(), x > 0, x.t(), big, x[0, 0]):
        for dim in (None, -1, 0):
            if t is big and dim == 0:
                continue
            found, told = work(lambda t, d: t.aminmax(dim=d, keepdim=d == -1), t.cuda(), dim)
            for f, e in zip(found, t.aminmax(dim=dim, keepdim=dim == -1), strict=True):
                same(f, e)
            assert dim == 0 or len(told) == (2 if t is big else 1 if t.is_contiguous() else 2), (t.shape, told)
    holed = x.clone()
    holed[2, 5] = float("nan")
    for f, e in zip(holed.cuda().aminmax(dim=1), holed.aminmax(dim=1), strict=True):
        same(f, e)


def quantile(q, how):
    x = torch.randn(5, 33)
    x[1, 3] = x[2] = float("nan")
    device = lambda q, where: q.to(where) if isinstance(q, torch.Tensor) else q
    for name in ("quantile", "nanquantile"):
        for dim, keepdim in ((1, False), (0, True), (None, False)) if how == "linear" else ((1, False),):
            call = lambda t, q, n=name, d=dim, k=keepdim: getattr(torch, n)(t, q, d, k, interpolation=how)
            found, told = work(call, x.cuda(), device(q, "cuda"))
            same(found, call(x, q), rtol=1e-6, atol=1e-6)
            assert found.stride() == call(x, q).stride()
            assert dim != 1 or told == ["launch"] * 2, told


def activations():
    torch.manual_seed(0)
    F = torch.nn.functional
    calls = {
        "glu": (lambda t, w: F.glu(t, 1), 3),
        "glu of the last": (lambda t, w: F.glu(t), 3),
        "prelu": (lambda t, w: F.prelu(t, w), 4),
        "renorm": (lambda t, w: t.renorm(2, 0, 1.5), None),
        "atan2": (lambda t, w: torch.atan2(t, t.detach().flip(0)), 3),
        "atan2 of the other": (lambda t, w: torch.atan2(t.detach().flip(0), t), 3),
    }
    for name, (call, most) in calls.items():
        found = []
        for device in ("cpu", "cuda"):
            torch.manual_seed(1)
            x, w = torch.randn(3, 4, 6), torch.rand(4)
            x, w = (t.to(device).requires_grad_() for t in (x, w))

            def run(x=x, w=w, call=call):
                out = call(x, w)
                return out, *torch.autograd.grad(out, (x, w), torch.ones_like(out), allow_unused=True)

            found.append(run())
            if device == "cuda" and most:
                told = work(run)[1]
                assert len(told) <= most + 1, (name, told)  # ones_like too
        for mine, expected in zip(found[1], found[0], strict=True):
            assert (mine is None) == (expected is None)
            if mine is not None:
                same(mine, expected, rtol=1e-5, atol=1e-6)
    x = torch.randn(6, 9)
    found, told = work(lambda t: t.renorm(2, 0, 1.5), x.cuda())
    same(found, x.renorm(2, 0, 1.5), rtol=1e-5, atol=1e-6)
    assert len(told) == 3, told


def angles():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        y, x = (torch.tensor(t, dtype=dtype) for t in ([0.0, -0.0, 3.0, -2.0, 1.5], [0.0, 0.0, 4.0, 0.0, -0.5]))
        g, found = torch.arange(1, 6).to(dtype), []
        for device in ("cpu", "cuda"):
            a, b = (t.to(device).requires_grad_() for t in (y, x))
            out, given = torch.atan2(a, b), g.to(device)
            if device == "cuda":
                for call in (torch.atan2, torch.hypot):
                    same(
                        once(call, a.detach(), b.detach()),
                        call(y, x),
                        rtol=1e-2 if dtype is torch.bfloat16 else 1e-6,
                        atol=0,
                    )
            run = lambda out=out, a=a, b=b, given=given: torch.autograd.grad(out, (a, b), given, True)
            grads, told = work(run) if device == "cuda" else (run(), ["launch"] * 2)
            assert told == ["launch"] * 2, told
            twice = torch.autograd.grad(torch.autograd.grad(out, a, given, True, True)[0].sum(), (a, b))
            found.append((*grads, *twice))
        bounds = {"rtol": 1e-2 if dtype is torch.bfloat16 else 1e-6, "atol": 1e-6}
        for mine, expected in zip(found[1], found[0], strict=True):
            same(mine, expected, **bounds)


def orders_of_none():
    for shape, dim in (((0,), 0), ((3, 0), 1), ((3, 0), 0), ((0, 4), -1), ((2, 0, 5), 2)):
        for dtype in (torch.float32, torch.int64):
            x = torch.empty(shape, dtype=dtype)
            for call in (lambda t, d: t.sort(d), lambda t, d: t.topk(0, d), lambda t, d: (t.argsort(d), t.msort())):
                for mine, expected in zip(call(x.cuda(), dim), call(x, dim), strict=True):
                    assert mine.is_cuda and mine.shape == expected.shape and mine.dtype is expected.dtype
    values, places = torch.arange(6.0).reshape(2, 3).cuda().topk(0, 1)
    assert values.shape == places.shape == (2, 0) and places.dtype is torch.int64


def given_results():
    torch.manual_seed(0)
    x, y, row = torch.randn(5, 6), torch.randn(5, 6), torch.randn(6)
    calls = {
        "add": lambda a, b, r, o: torch.add(a, b, alpha=2.0, out=o),
        "sub": lambda a, b, r, o: torch.sub(a, r, out=o),
        "mul by a number": lambda a, b, r, o: torch.mul(a, 3, out=o),
        "maximum": lambda a, b, r, o: torch.maximum(a, b, out=o),
        "exp": lambda a, b, r, o: torch.exp(a, out=o),
        "into an operand": lambda a, b, r, o: torch.add(a, b, out=a),
        "into a view": lambda a, b, r, o: torch.mul(a, b, out=o.t().contiguous().t()),
        "compared": lambda a, b, r, o: torch.lt(a, b, out=torch.empty_like(o, dtype=torch.bool)),
        "of integers": lambda a, b, r, o: torch.add(a.long(), b.long(), out=o),
        "of other sizes": lambda a, b, r, o: torch.add(a, b, out=o.new_empty(0)),
        "of one's neighbours": lambda a, b, r, o: torch.neg(a, out=o),
    }
    direct = {"add", "sub", "mul by a number", "maximum", "exp", "into an operand", "of one's neighbours"}
    for name, call in calls.items():
        given = [x.clone(), y.clone(), row.clone(), torch.empty(5, 6)]
        on_gpu = [t.cuda() for t in given]
        version = on_gpu[3]._version
        found = call(*on_gpu)
        same(found, call(*given), rtol=1e-6, atol=1e-6)
        if name in direct:
            found, told = work(call, *on_gpu)
            assert told == ["launch"] and (found is on_gpu[3] or name == "into an operand"), (name, told)
            assert on_gpu[3]._version == version + (0 if name == "into an operand" else 3), name
