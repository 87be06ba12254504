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


def test_what_custom_fwd_casts_of_its_arguments():
    from collections import OrderedDict

    import numpy as np

    from shim_torch.amp.autocast_mode import _cast

    single, double, array = torch.ones(2), torch.ones(2, dtype=torch.float64), np.ones(2)

    def cast(value):
        return _cast(value, "cpu", torch.bfloat16)

    assert cast(single).dtype is torch.bfloat16
    for same in (double, torch.ones(2, dtype=torch.int64), single.to("meta"), "abc", b"ab", array, 3, None):
        assert cast(same) is same
    lists = cast([single, (double, single)])
    assert type(lists) is list and type(lists[1]) is tuple
    assert [x.dtype for x in (lists[0], *lists[1])] == [torch.bfloat16, torch.float64, torch.bfloat16]
    named = cast(OrderedDict(x=single))
    assert type(named) is dict and named["x"].dtype is torch.bfloat16
    assert list(cast(range(2))) == [0, 1] and [x.dtype for x in cast(iter([single]))] == [torch.bfloat16]
    for decorator in (torch.amp.custom_fwd, torch.amp.custom_bwd):
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
            decorator(device_type=3)


def test_grad_scaler_goes_through_its_stages():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    for call in (scaler.unscale_, scaler.step):
        with pytest.raises(
            AssertionError, match="but _scale is None.  This may indicate your script did not use scaler.scale"
        ):
            call(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    nested = scaler.scale([p, (p, iter([p]))])
    assert type(nested[1]) is tuple and next(nested[1][1]).tolist() == [4.0, 4.0]
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler.update(4.0)
    p.grad = torch.tensor([8.0, 4.0])
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step\\(\\)"):
        scaler.unscale_(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0 and p.tolist() == [-1.0, 0.0]
    scaler.unscale_(optimizer)


def test_grad_scaler_takes_a_state():
    state = {"scale": 2.0, "growth_factor": 3.0, "backoff_factor": 0.1, "growth_interval": 5, "_growth_tracker": 1}
    new, used = torch.amp.GradScaler("cpu"), torch.amp.GradScaler("cpu")
    used.scale(torch.ones(1))
    for scaler in (new, used):
        scaler.load_state_dict(state)
        assert scaler.state_dict() == state and list(scaler.state_dict()) == list(state)
    assert new._scale is None and used._scale.item() == 2.0 and used._growth_tracker.item() == 1
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        new.load_state_dict({})
    off = torch.amp.GradScaler("cpu", growth_factor=0.5, enabled=False)
    assert off.state_dict() == {} and off.load_state_dict({}) is None and off.scale(3) == 3 and off.get_scale() == 1.0
    for wrong, what in (
        ({"growth_factor": 1.0}, "growth factor must be > 1.0"),
        ({"backoff_factor": 1.0}, "backoff factor must"),
    ):
        with pytest.raises(AssertionError, match=what):
            torch.amp.GradScaler("cpu", **wrong)


def test_grad_scaler_and_kinds_of_gradients():
    half, sparse = torch.nn.Parameter(torch.ones(2, dtype=torch.float16)), torch.nn.Parameter(torch.ones(3).half())
    scaler, optimizer = torch.amp.GradScaler("cpu", init_scale=4.0), torch.optim.SGD([half, sparse], lr=1.0)
    scaler.scale(torch.ones(1))
    half.grad = torch.ones_like(half)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(optimizer)
    assert [x.item() for x in scaler._check_inf_per_device(optimizer).values()] == [0.0]
    # two values at one place, which only their sum makes too large
    sparse.grad = torch.sparse_coo_tensor([[0, 0]], torch.tensor([6e4, 6e4]).half(), (3,), check_invariants=True)
    assert [x.item() for x in scaler._check_inf_per_device(optimizer).values()] == [1.0]
    optimizer.param_groups[0]["params"].append(3)
    with pytest.raises(AssertionError, match="expected param to be torch.Tensor, got int"):
        scaler._check_inf_per_device(optimizer)


@pytest.mark.parametrize(
    "unscaled, given, expected", [(False, None, 8.0), (False, 2.0, 16.0), (True, None, None), (True, 2.0, 2.0)]
)
def test_what_optimizers_that_scale_find(unscaled, given, expected):
    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            self.seen = self.grad_scale
            return "stepped"

    p = torch.nn.Parameter(torch.ones(2))
    scaler, optimizer = torch.amp.GradScaler("cpu", init_scale=8.0), Own([p], lr=1.0)
    if given is not None:
        optimizer.grad_scale = torch.tensor(given)
    scaler.scale(p.sum()).backward()
    if unscaled:
        scaler.unscale_(optimizer)
    assert scaler.step(optimizer) == "stepped" and not hasattr(optimizer, "grad_scale")
    assert (optimizer.seen if expected is None else optimizer.seen.item()) == expected
    assert p.grad.tolist() == [1.0 if unscaled else 8.0] * 2


def test_the_older_cast_is_of_cuda_tensors_and_deprecated(device):
    x = torch.ones(2, device=device)
    with pytest.warns(
        FutureWarning, match=r"_cast\(value, dtype\)` is deprecated.*_cast\(value, 'cuda', dtype\)` instead"
    ):
        cast = torch.cuda.amp.autocast_mode._cast((x, [x.double(), x.int()], "text"), torch.float16)
    assert cast[0].dtype is (torch.float16 if x.is_cuda else torch.float32) and type(cast[1]) is list
    assert [v.dtype for v in cast[1]] == [torch.float64, torch.int32] and cast[2] == "text"
