"""torch.amp: autocast, custom_fwd/custom_bwd, GradScaler."""

import pytest

import shim_torch as torch


def test_autocast_lowers_products_and_restores():
    a = torch.randn(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (a @ a).dtype is torch.bfloat16
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype is torch.float32
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")
    assert (a @ a).dtype is torch.float32


def test_autocast_wants_a_known_device_type():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(RuntimeError):
        torch.autocast("nonsense")


def test_custom_fwd_casts_inputs_and_custom_bwd_sees_the_same_state():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            seen.append((x.dtype, torch.is_autocast_enabled("cpu")))
            return x @ w

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            seen.append(torch.is_autocast_enabled("cpu"))
            return g @ w.t(), x.t() @ g

    x = torch.randn(3, 3).bfloat16().requires_grad_()
    w = torch.randn(3, 3).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = Product.apply(x, w)
    out.sum().backward()
    assert seen == [(torch.float32, False), False]
    assert x.grad.dtype is torch.bfloat16


def test_grad_scaler_skips_a_step_that_overflowed():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale((p * torch.tensor([1.0, float("inf")])).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [1.0, 1.0]
    assert scaler.get_scale() == 2.0
    optimizer.zero_grad()
    scaler.scale((p * 0.5).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 4.0
