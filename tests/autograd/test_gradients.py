"""Every operator's gradient, and the gradient of that, against differences of its values."""

import re

import pytest
from gradient_samples import ELSEWHERE, ONCE, SAMPLES, inputs

import shim_torch
from shim_torch.autograd import gradcheck, gradgradcheck
from shim_torch.ops._record import RECORDS

VALUES = inputs(shim_torch)
LEAVES = [
    n for n, v in VALUES.items() if isinstance(v, shim_torch.Tensor) and v.is_floating_point() or n in ("z", "zs")
]


def function_of(expression):
    """The expression as a function of the leaves it names, and those leaves."""
    names = [
        n
        for n in LEAVES
        if n not in ("nan", "eye", "CONSTANT") and re.search(rf"(?<![\w.'\"]){n}(?![\w'\"=(])", expression)
    ]
    code = compile(expression, expression, "eval")

    def run(*leaves):
        return eval(code, {**VALUES, **dict(zip(names, leaves, strict=True))})

    return run, tuple(VALUES[n].detach().clone().requires_grad_() for n in names)


EXPRESSIONS = [(key, e) for key, all_of_it in SAMPLES.items() for e in all_of_it]


@pytest.mark.parametrize(("record", "expression"), EXPRESSIONS, ids=[f"{k}:{e}" for k, e in EXPRESSIONS])
def test_first_derivative(record, expression):
    function, leaves = function_of(expression)
    assert leaves
    assert gradcheck(function, leaves)


@pytest.mark.parametrize(
    ("record", "expression"),
    [x for x in EXPRESSIONS if x[0] not in ONCE],
    ids=[f"{k}:{e}" for k, e in EXPRESSIONS if k not in ONCE],
)
def test_second_derivative(record, expression):
    function, leaves = function_of(expression)
    if not any(o.requires_grad for o in _tensors(function(*leaves))):
        pytest.skip("no gradient at all")
    assert gradgradcheck(function, leaves)


def _tensors(x):
    return [x] if isinstance(x, shim_torch.Tensor) else [t for t in x if isinstance(t, shim_torch.Tensor)]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("floor_divide", lambda x: x // 0.7),
        ("heaviside", lambda x: shim_torch.heaviside(x, shim_torch.ones_like(x))),
        ("_chunk_cat", lambda x: shim_torch._chunk_cat([x], 0, 2)),
        ("linalg_ldl_factor_ex", lambda x: shim_torch.linalg.ldl_factor(x)[0]),
    ],
)
def test_underived_operators(name, call):
    """Their results ask for a gradient, and backward says that there is none, as in PyTorch."""
    x = shim_torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
    y = call(x)
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        y.sum().backward()


def test_every_gradient_has_a_sample():
    keys = {
        (f"{r.ns}::" if r.ns != "aten" else "") + r.name + (f".{r.overload}" if r.overload else "")
        for r in RECORDS.values()
        if r.ns in ("aten", "shim") and r.kind != "composite" and (r.grad or r.fused)
    }
    missing = sorted(keys - set(SAMPLES) - set(ELSEWHERE))
    assert len(missing) < 0.05 * len(keys), missing
