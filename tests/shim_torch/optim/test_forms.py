"""Names that libraries import from the optimizers' modules: the update in PyTorch's implementations, its helpers."""

import pytest

import shim_torch as torch
from shim_torch import optim

_BETAS = dict(beta1=0.9, beta2=0.99, eps=1e-8)
_COMMON = dict(lr=0.1, weight_decay=0.1, maximize=False, has_complex=False, differentiable=False)
_ADAM = dict(**_BETAS, **_COMMON, capturable=False, amsgrad=False, decoupled_weight_decay=True)
_SGD = dict(lr=0.1, weight_decay=0.1, momentum=0.9, dampening=0.1, nesterov=False, maximize=True, has_sparse_grad=False)
_RPROP = dict(
    step_size_min=1e-6, step_size_max=50, etaminus=0.5, etaplus=1.2, maximize=False, has_complex=False,
    differentiable=False, capturable=False,
)  # fmt: skip
_ADAFACTOR = dict(
    d=1.0, lr=0.1, beta2_decay=-0.8, weight_decay=0.1, eps1=None, eps2=1e-3, maximize=False, has_complex=False
)
_MUON = dict(
    lr=0.1, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.7750, 2.0315), ns_steps=5,
    eps=1e-7, adjust_lr_fn=None, has_complex=False,
)  # fmt: skip


def _ramp(*shape, by=1.0):
    return (torch.arange(1.0, 1 + torch.Size(shape).numel()) * by).reshape(shape)


# (module, rule, kinds, its states, whether steps and loss scales follow, settings, parameter after a step as PyTorch has it)
CASES = [
    ("adam", "adam", "smf", [(2, 3), (2, 3)], (True, True), _ADAM,
     [0.959, 1.9301, 2.9065, 3.8853, 4.8657, 5.847]),
    ("sgd", "sgd", "smf", [(2, 3)], (False, True), _SGD,
     [0.883, 1.856, 2.829, 3.802, 4.775, 5.748]),
    ("rprop", "rprop", "sm", [(2, 3), (2, 3)], (True, False), _RPROP,
     [1.0, 2.0, 3.0, 1.6, 2.0, 2.4]),
    ("_adafactor", "adafactor", "sm", [(2, 1), (1, 3), None], (True, True), _ADAFACTOR,
     [1.3699, 2.1392, 3.0025, 3.8821, 4.8072, 5.7537]),
    ("_muon", "muon", "s", [(2, 3)], (False, False), _MUON,
     [1.0318, 1.9731, 2.9145, 3.9116, 4.9104, 5.9091]),
]  # fmt: skip


@pytest.mark.parametrize(("module", "rule", "kinds", "states", "follow", "settings", "expected"), CASES)
def test_implementations(module, rule, kinds, states, follow, settings, expected):
    home = getattr(optim, module)
    for kind in kinds:
        update = getattr(home, {"s": "_single_tensor_", "m": "_multi_tensor_", "f": "_fused_"}[kind] + rule)
        params, grads = [_ramp(2, 3)], [_ramp(2, 3, by=0.3) - 1]
        by = 0.5 if rule != "adafactor" else 1.0
        lists = [[s if s is None else _ramp(*s, by=by)] for s in states] + ([[]] if rule == "adam" else [])
        steps, scales = follow
        after = ([[torch.tensor(3.0)]] if steps else []) + ([None, None] if scales else [])
        update(params, grads, *lists, *after, **settings)
        assert params[0].flatten().tolist() == pytest.approx(expected, abs=1e-4), kind


def test_refusals():
    from shim_torch.optim.adam import _multi_tensor_adam

    with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
        _multi_tensor_adam([], [], [], [], [], [], None, None, **{**_ADAM, "differentiable": True})
    with pytest.raises(TypeError, match="positional arguments"):
        _multi_tensor_adam(*[[]] * 9, **_ADAM)
    with pytest.raises(AttributeError):
        optim.adam._single_tensor_sgd
    with pytest.raises(AssertionError, match="Grad scaling should occur outside"):
        optim._adafactor._single_tensor_adafactor(*[[]] * 6, torch.ones(()), None, **_ADAFACTOR)
    with pytest.raises(RuntimeError, match="Foreach is not supported for Muon yet"):
        optim._muon.muon([], [], [], foreach=True, **_MUON)


def test_helpers_are_in_each_module():
    from shim_torch._impl.optim.adagrad_rmsprop import _make_sparse, _view_as_real
    from shim_torch.optim import optimizer

    assert optim.sgd.Optimizer is optim.Optimizer and optim.adam._get_value is optimizer._get_value
    parts = [torch.ones(2, dtype=torch.complex64)]
    _view_as_real(parts)
    assert parts[0].shape == (2, 2)
    assert _make_sparse(torch.zeros(3), torch.tensor([[1]]), torch.ones(1)).to_dense().tolist() == [0, 1, 0]


def test_over_lists():
    from shim_torch.optim import _multi_tensor

    made = _multi_tensor.SGD([torch.ones(2, requires_grad=True)], lr=0.5)
    assert isinstance(made, optim.SGD) and made.defaults["foreach"] is True and made.defaults["lr"] == 0.5


def test_line_search_and_cubic():
    from shim_torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    def at(x, t, d):
        place = x + t * d
        return float((place**4).sum()), 4 * place**3

    x = torch.tensor([2.0, -1.0])
    f, g = at(x, 0.0, x)
    f_new, g_new, t, calls = _strong_wolfe(at, x, 1.0, -g, f, g, -g.dot(g))
    assert calls == 4 and float(t) == pytest.approx(0.0791883, abs=1e-6) and f_new == pytest.approx(0.2992555, abs=1e-5)
    assert g_new.tolist() == pytest.approx([-0.609175, -1.275831], abs=1e-5)
    line = (0.0, 1.0, torch.tensor(-1.0), 1.0, 1.0, torch.tensor(1.0))
    assert (
        float(_cubic_interpolate(*line)) == pytest.approx(0.5) and _cubic_interpolate(*line, bounds=(0.6, 0.9)) == 0.6
    )


def test_is_compiling():
    from shim_torch._utils import is_compiling

    assert is_compiling() is False
