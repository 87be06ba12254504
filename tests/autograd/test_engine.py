"""Cases of backward passes, Functions and the tensor protocol against what PyTorch 2.13 gave for them."""

import importlib
import json
from pathlib import Path

import pytest
from outcome import cases_of, outcome

import shim_torch

FILES = [f.stem for f in sorted(Path(__file__).parent.glob("*_cases.py"))]
CASES = {(f, name): case for f in FILES for name, case in cases_of(importlib.import_module(f)).items()}
EXPECTED = {f: json.loads(Path(__file__).with_name(f.replace("_cases", "_expected.json")).read_text()) for f in FILES}


# Of these the outcome tells the device, or goes by way of NumPy arrays.
CPU_ALONE = {
    "printed",
    "wrappers_with_handlers_alone",
    "subclass_results",
    "what_functions_are_seen",
    "deep_copies",
    "types",
    "to_forms",
    "arrays",
}


# What has kernels of its own on CUDA, in PyTorch (dropout, attention) or here (l1_loss), whose nodes have other names.
OTHER_KERNELS = ("F.dropout(", "F.scaled_dot_product_attention(", "F.l1_loss(")


def of_any_device(names):
    return [pair for pair in names if not pair[0].startswith(OTHER_KERNELS)]


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize(("file", "name"), CASES)
def test_as_pytorch(file, name, device):
    if device == "cuda" and name in CPU_ALONE:
        pytest.skip("about the CPU")
    text = json.dumps(outcome(shim_torch, CASES[file, name]))
    if device == "cuda":
        for there, here in ((", device='cuda:0'", ""), ("torch.cuda.", "torch."), ('"cuda:0"', '"cpu"')):
            text = text.replace(there, here)
    got = json.loads(text)
    wanted = EXPECTED[file][name]
    if device == "cuda" and (file, name) == ("node_name_cases", "names"):
        got["value"], wanted = of_any_device(got["value"]), {**wanted, "value": of_any_device(wanted["value"])}
    assert got["value"] == wanted["value"]
    assert got["warnings"] == wanted["warnings"]


def test_batched_gradients_are_stacked():
    torch = importlib.import_module("shim_torch")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)
    assert rows.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    (second,) = torch.autograd.grad(rows.sum(), x)
    assert second.tolist() == [2, 2, 2]
    with pytest.raises(
        RuntimeError, match="we interpret the first dimension of each grad_output as the batch dimension"
    ):
        torch.autograd.grad(x * 2, x, torch.ones(2, 2), is_grads_batched=True)


def test_what_pytorchs_own_tests_ask_of_torch_c():
    torch = importlib.import_module("shim_torch")
    c = importlib.import_module("shim_torch._C")
    functions = importlib.import_module("shim_torch._C._functions")
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    assert isinstance(y.grad_fn, functions.ExpBackward0)
    assert isinstance(y.grad_fn.next_functions[0][0], functions.AccumulateGrad)
    order = []
    y.register_hook(lambda g: order.extend(n.name() for n in c._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        y.sum().backward()
    assert order == ["ExpBackward0", "torch::autograd::AccumulateGrad"]
    z = torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter(z):
        z.add_(1)
    assert z._version == 0
    with pytest.raises(RuntimeError, match="Cannot set a version_counter to a value below 0"):
        c._autograd._unsafe_set_version_counter((z,), (-1,))
    ref = c._WeakTensorRef(z)
    del z
    assert ref.expired()


def test_forward_gradients_can_be_switched_off_everywhere():
    torch = importlib.import_module("shim_torch")
    fw = importlib.import_module("shim_torch.autograd.forward_ad")
    assert fw._is_fwd_grad_enabled()
    with fw._set_fwd_grad_enabled(False):
        assert not fw._is_fwd_grad_enabled()
        with fw.dual_level():
            assert fw.unpack_dual(fw.make_dual(torch.ones(1), torch.ones(1)) * 2).tangent is None
    assert fw._is_fwd_grad_enabled()


@pytest.mark.parametrize("name", ["log1p", "expm1", "exp2", "log10", "relu"])
def test_names_of_nodes_are_large_after_a_digit(name):
    node = getattr(shim_torch.ones(2, requires_grad=True), name)().grad_fn
    said = {"log1p": "Log1P", "expm1": "Expm1", "exp2": "Exp2", "log10": "Log10", "relu": "Relu"}[name]
    assert node.name() == f"{said}Backward0"
