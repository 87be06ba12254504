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


def test_grad_scaler_shows_its_state_as_tensors():
    import copy
    import pickle

    scaler = torch.GradScaler("cpu", init_scale=8.0)
    assert scaler._scale is None and scaler.get_scale() == 8.0
    assert [x.item() for x in scaler.scale([torch.tensor(1.0), torch.tensor(2.0)])] == [8.0, 16.0]
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.tensor([8.0, 16.0])
    optimizer = torch.optim.SGD([p], lr=1.0)
    assert [f.item() for f in scaler._check_inf_per_device(optimizer).values()] == [0.0]
    assert p.grad.tolist() == [8.0, 16.0]
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    assert p.grad.tolist() == [1.0, 2.0] and p.tolist() == [0.0, -1.0]
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called since the last update"):
        scaler.step(optimizer)
    scaler.update()
    assert scaler.state_dict()["_growth_tracker"] == 1 and scaler._growth_tracker.dtype is torch.int32
    assert copy.deepcopy(scaler).state_dict() == scaler.state_dict()
    scaler.update(2.0)
    assert scaler.get_scale() == 2.0


def test_grad_scaler_of_halves_does_not_round_its_inverse():
    grads, found = [torch.tensor([2.0**15], dtype=torch.float16)], torch.zeros(())
    torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(2.0**-26))
    assert grads[0].item() == 2.0**-11 and found == 0


def test_optimizers_that_scale_for_themselves():
    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            self.seen = (self.grad_scale.item(), self.found_inf.item())

    p = torch.nn.Parameter(torch.ones(1))
    p.grad = torch.tensor([float("inf")])
    scaler, optimizer = torch.amp.GradScaler("cpu", init_scale=4.0), Own([p], lr=1.0)
    scaler.scale(torch.ones(()))
    scaler.step(optimizer)
    assert optimizer.seen == (4.0, 1.0) and not hasattr(optimizer, "grad_scale")
