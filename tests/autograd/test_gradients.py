"""Every operator's gradient, and the gradient of that, against differences of its values."""

import re

import pytest
from devices import check_forms
from gradient_samples import ELSEWHERE, ONCE, SAMPLES, inputs

import shim_torch
from shim_torch._impl.table.operators import records
from shim_torch.autograd import gradcheck, gradgradcheck

VALUES = {"cpu": inputs(shim_torch)}
LEAVES = [
    n
    for n, v in VALUES["cpu"].items()
    if isinstance(v, shim_torch.Tensor) and v.is_floating_point() or n in ("z", "zs")
]


def values_on(device):
    """The inputs on a device, made once."""
    if device not in VALUES:
        VALUES[device] = {n: v.to(device) if isinstance(v, shim_torch.Tensor) else v for n, v in VALUES["cpu"].items()}
    return VALUES[device]


def function_of(expression, device="cpu"):
    """The expression as a function of the leaves it names, and those leaves on a device."""
    values = values_on(device)
    names = [
        n
        for n in LEAVES
        if n not in ("nan", "eye", "CONSTANT") and re.search(rf"(?<![\w.'\"]){n}(?![\w'\"=(])", expression)
    ]
    code = compile(expression, expression, "eval")

    def run(*leaves):
        return eval(code, {**values, **dict(zip(names, leaves, strict=True))})

    return run, tuple(values[n].detach().clone().requires_grad_() for n in names)


EXPRESSIONS = [(key, e) for key, all_of_it in SAMPLES.items() for e in all_of_it]


@pytest.mark.parametrize(("record", "expression"), EXPRESSIONS, ids=[f"{k}:{e}" for k, e in EXPRESSIONS])
def test_first_derivative(record, expression, device):
    """On the CPU against differences; elsewhere against the CPU's, of which meta has the forms."""
    if device == "meta":
        check_forms(lambda: gradients(expression, shim_torch.get_default_device().type, 1))
        return
    function, leaves = function_of(expression)
    assert leaves
    if device == "cpu":
        assert gradcheck(function, leaves)
    else:
        assert_as_cpu(expression, device, 1)


def gradients(expression, device, order):
    """The results of an expression and their gradients up to an order, by weights that tell the elements apart."""
    function, leaves = function_of(expression, device)
    with shim_torch.device(device):  # of the tensors that the expression makes
        outs = [t for t in _tensors(function(*leaves)) if t.requires_grad]
    found = [t.detach() for t in outs]
    for _ in range(order):
        if not outs:
            break
        weights = [weights_for(t) for t in outs]
        got = shim_torch.autograd.grad(outs, leaves, weights, create_graph=True, allow_unused=True)
        found += [g.detach() for g in got if g is not None]
        outs = [g for g in got if g is not None and g.requires_grad]
    return found


def weights_for(like):
    """Weights of the dtype of a tensor."""
    wave = shim_torch.arange(like.numel(), dtype=shim_torch.float64, device=like.device).mul(0.7).cos()
    return wave.reshape(like.shape).to(like.dtype)


def assert_as_cpu(expression, device, order):
    there, here = gradients(expression, device, order), gradients(expression, "cpu", order)
    assert len(there) == len(here)
    for a, b in zip(there, here, strict=True):
        assert a.device.type == device
        shim_torch.testing.assert_close(a.cpu(), b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("record", "expression"),
    [x for x in EXPRESSIONS if x[0] not in ONCE],
    ids=[f"{k}:{e}" for k, e in EXPRESSIONS if k not in ONCE],
)
@pytest.mark.devices("cpu", "cuda")
def test_second_derivative(record, expression, device):
    if device != "cpu":
        assert_as_cpu(expression, device, 2)
        return
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


@pytest.mark.parametrize("dtype", [shim_torch.bool, shim_torch.uint8])
@pytest.mark.filterwarnings("ignore:where received a uint8")
def test_what_a_choice_leaves_out_has_no_gradient(dtype):
    """Not even of NaN and infinity, which 0 times would be NaN."""
    g = shim_torch.tensor([shim_torch.nan, shim_torch.inf, 2.0, 3.0])
    x, y = (shim_torch.ones(4, requires_grad=True) for _ in range(2))
    first = shim_torch.tensor([1, 0, 1, 0], dtype=dtype)
    by_x, by_y = shim_torch.autograd.grad(shim_torch.where(first, x, y), (x, y), g)
    assert repr(by_x.tolist()) == "[nan, 0.0, 2.0, 0.0]" and by_y.tolist() == [0.0, shim_torch.inf, 0.0, 3.0]
    value = shim_torch.tensor(0.0, requires_grad=True)
    filled = shim_torch.masked_fill(x, shim_torch.tensor([False, False, True, True]), value)
    assert shim_torch.autograd.grad(filled, value, g)[0] == 5.0


def test_every_gradient_has_a_sample():
    keys = {
        (f"{r.ns}::" if r.ns != "aten" else "") + r.name + (f".{r.overload}" if r.overload else "")
        for r in records().values()
        if r.ns in ("aten", "shim") and r.kind != "composite" and (r.grad or r.fused)
    }
    missing = sorted(keys - set(SAMPLES) - set(ELSEWHERE))
    assert len(missing) < 0.05 * len(keys), missing
