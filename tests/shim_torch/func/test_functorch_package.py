"""``functorch``, the top-level package that comes with PyTorch, and the parts of ``torch._functorch``."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._C import _functorch as levels
from shim_torch._functorch import vmap as vmap_steps
from shim_torch._functorch.apis import chunk_vmap
from shim_torch._functorch.eager_transforms import _slice_argnums
from shim_torch._functorch.make_functional import functional_init, functional_init_with_buffers
from shim_torch._functorch.vmap import restore_vmap
from shim_torch._impl.surface import functorch
from shim_torch._impl.surface.functorch.experimental import replace_all_batch_norm_modules_

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")


def test_served_beside_torch():
    code = """
from compat import enable_torch_proxy
enable_torch_proxy({"__main__"})
import functorch, torch, importlib.util
import functorch.experimental.control_flow
from functorch import vmap
assert vmap(torch.sin)(torch.zeros(2)).tolist() == [0.0, 0.0]
assert functorch.experimental.chunk_vmap and importlib.util.find_spec("functorch")
try:
    import functorch.nothing
except ModuleNotFoundError as error:
    assert error.name == "functorch.nothing"
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_deprecation_names_the_heir():
    with pytest.warns(FutureWarning, match=r"`functorch.vmap` is deprecated .* use `torch.vmap` instead"):
        functorch.vmap(torch.sin)


def test_make_functional():
    linear = torch.nn.Linear(2, 3)
    function, params = functorch.make_functional(linear)
    x = torch.ones(4, 2)
    assert torch.equal(function(params, x), linear(x)) and function.param_names == ("weight", "bias")
    assert function.names_map == {"weight": ["weight"], "bias": ["bias"]}
    assert all(p.is_meta for p in function.parameters())
    doubled = function([2 * p for p in params], x)
    assert torch.allclose(doubled, 2 * linear(x))
    assert not any(p.requires_grad for p in functorch.make_functional(linear, disable_autograd_tracking=True)[1])
    with pytest.raises(RuntimeError, match="`model` has buffers"):
        functorch.make_functional(torch.nn.BatchNorm1d(3))


def test_tied_parameters_are_one():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 2, bias=False)
            self.b = torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    function, params = functorch.make_functional(Net())
    assert len(params) == 1 and function.names_map == {"a.weight": ["a.weight", "b.weight"]}
    eye = (3 * torch.eye(2),)
    assert function(eye, torch.ones(1, 2)).tolist() == [[9.0, 9.0]]


def test_ensembles():
    models = [torch.nn.BatchNorm1d(3) for _ in range(4)]
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    assert [tuple(p.shape) for p in params] == [(4, 3), (4, 3)]
    assert [tuple(b.shape) for b in buffers] == [(4, 3), (4, 3), (4,)]
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    function, params, buffers = functorch.combine_state_for_ensemble(models)
    x = torch.randn(5, 2)
    out = torch.vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    assert torch.allclose(out, torch.stack([m(x) for m in models]))
    for models, text in [
        ([], "at least one model, got 0"),
        ([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1).eval()], "same training/eval mode"),
        ([torch.nn.Linear(1, 1), torch.nn.ReLU()], "the same class"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            functorch.combine_state_for_ensemble(models)


def test_functional_init():
    weights, function, names = functional_init(torch.nn.Linear, (4,))(2, 3)
    assert [tuple(w.shape) for w in weights] == [(4, 3, 2), (4, 3)] and names == ("weight", "bias")
    found = torch.vmap(function, in_dims=(0, None))(weights, (torch.ones(5, 2),))
    assert torch.allclose(found[1], torch.ones(5, 2) @ weights[0][1].t() + weights[1][1])
    _, buffers, _, _, buffer_names = functional_init_with_buffers(torch.nn.BatchNorm1d, (4,))(3)
    assert buffer_names == ("running_mean", "running_var", "num_batches_tracked") and buffers[2].tolist() == [0] * 4


def test_parts_of_vmap():
    found, dims = restore_vmap(lambda x, y: (x + 1, y), (0, None), 3, "error")(torch.arange(3), torch.arange(2))
    assert found[0].tolist() == [1, 2, 3] and found[1].tolist() == [0, 1] and dims == (0, None)
    x = torch.randn(7, 2)
    assert torch.equal(chunk_vmap(torch.sin, chunks=3)(x), x.sin())
    norm = replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm2d(3)))[0]
    assert norm.running_mean is None and not norm.track_running_stats


def test_levels():
    seen = []

    def f(x):
        seen.append((levels.is_batchedtensor(x), levels.maybe_get_bdim(x), levels.peek_interpreter_stack().key()))
        seen.append(tuple(levels.get_unwrapped(x).shape))
        return x

    torch.vmap(f)(torch.zeros(2, 3))
    assert seen == [(True, 0, levels.TransformType.Vmap), (2, 3)]
    assert levels.peek_interpreter_stack() is None and levels.maybe_get_level(torch.ones(1)) == -1
    before = levels._is_vmap_fallback_enabled()
    levels._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match="aten::histc hit the vmap fallback which is currently disabled"):
            torch.vmap(torch.histc)(torch.randn(2, 3))
    finally:
        levels._set_vmap_fallback_enabled(before)


def test_reshaped_dims():
    x = np.arange(24.0).reshape(2, 3, 4)
    joined = levels.reshape_dim_into(0, 1, torch.from_numpy(x))
    assert np.array_equal(joined.numpy(), np.moveaxis(x, 0, 1).reshape(3, 8))
    assert levels.reshape_dim_outof(1, 2, joined).shape == (3, 2, 4)


def test_slice_argnums():
    assert _slice_argnums((1, 2, 3), (0, -1)) == (1, 3) and _slice_argnums((1, 2, 3), 1, as_tuple=False) == 2
    with pytest.raises(RuntimeError, match="argnum must be int, got: <class 'str'>"):
        _slice_argnums((1, 2), (0, "x"))


class Pair:
    """A container of its own that libraries such as tensordict teach ``vmap``."""

    def __init__(self, first, second):
        self.first, self.second = first, second


def test_steps_of_vmap_can_be_replaced(monkeypatch):
    """tensordict puts functions of its own where ``torch._functorch.vmap`` has the steps of ``vmap``."""
    plain = vmap_steps._process_batched_inputs, vmap_steps._create_batched_inputs, vmap_steps._unwrap_batched

    def process(in_dims, args, func):
        (pair,) = args
        return plain[0](in_dims, (pair.first, pair.second), func)

    def create(dims, flat, level, spec):
        return (Pair(*(vmap_steps._add_batch_dim(x, d, level) for x, d in zip(flat, dims, strict=True))),)

    def unwrap(found, out_dims, level, size, func):
        name = vmap_steps._get_name(func)
        both = (vmap_steps._maybe_remove_batch_dim(name, x, level, size, out_dims) for x in (found.first, found.second))
        return Pair(*both)

    monkeypatch.setattr(vmap_steps, "_process_batched_inputs", process)
    monkeypatch.setattr(vmap_steps, "_create_batched_inputs", create)
    monkeypatch.setattr(vmap_steps, "_unwrap_batched", unwrap)
    x, y = torch.arange(6.0).reshape(3, 2), torch.arange(3.0)
    found = torch.vmap(lambda p: Pair(p.first * p.second, torch.ones(2)))(Pair(x, y))
    assert torch.equal(found.first, x * y[:, None]) and torch.equal(found.second, torch.ones(3, 2))
    with pytest.raises(ValueError, match=r"vmap\(f, \.\.\.\): `f` must only return Tensors, got type"):
        vmap_steps._maybe_remove_batch_dim("f", 1, 0, 3, 0)
