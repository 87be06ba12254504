"""Module._apply with a function that changes the layout makes new parameters; torch.masked refuses repeated dims."""

import pytest

import shim_torch as torch
from shim_torch import nn


def _sparse(t):
    return torch.sparse_coo_tensor(torch.tensor([[0], [0]]), torch.ones(1), t.shape) if t.dim() > 1 else t


def test_another_layout_makes_new_parameters():
    module = nn.Linear(3, 2)
    module.weight.grad = torch.ones(2, 3)
    weight, bias = module.weight, module.bias
    with torch.sparse.check_sparse_tensor_invariants(False):
        module._apply(_sparse)
    assert isinstance(module.weight, nn.Parameter) and module.weight.requires_grad
    assert module.weight is not weight and module.weight.layout == module.weight.grad.layout == torch.sparse_coo
    assert weight.layout == torch.strided and module.bias is bias
    module = nn.Linear(3, 2)
    weight = module.weight
    assert module.double().weight is weight and weight.dtype == torch.float64


@pytest.mark.parametrize("name", ["prod", "sum", "amax", "mean", "logsumexp"])
def test_masked_reductions_refuse_repeated_dims(name):
    reduction = getattr(torch.masked, name)
    for dim, text in (((0, 0), "dim=0"), ([1, 1], "dim=1"), ((0, 1, 0), "dim=0")):
        with pytest.raises(RuntimeError, match=f"{text} appears multiple times in the list of dims"):
            reduction(torch.ones(2, 3), dim=dim)
    assert reduction(torch.ones(2, 3), dim=(0, 1)).shape == ()


def test_conversion_may_make_new_parameters():
    net = nn.Linear(1, 1)
    old = net.weight
    try:
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        net.double()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    assert net.weight is not old and old.dtype == torch.float32
