"""``__torch_dispatch__``: modes and tensor classes that see operators below autograd, as PyTorch shows them."""

import copy
import gc
import io
import pickle

import pytest

import shim_torch as torch
from shim_torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode
from shim_torch.utils._pytree import tree_map


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls, self.kwargs = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func))
        self.kwargs.append(kwargs)
        return func(*args, **(kwargs or {}))


class Wrapper(torch.Tensor):
    """Holds another tensor and nothing else."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        inside = tree_map(lambda x: x.inner if isinstance(x, Wrapper) else x, (args, kwargs or {}))
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*inside[0], **inside[1]))


def test_a_mode_sees_the_operators_below_composites():
    x, layer = torch.randn(3, 4, requires_grad=True), torch.nn.Linear(4, 2)
    with Log() as log:
        y = layer(x)
        (y.softmax(-1) > 0).sum()
        y.to(torch.float64).t().reshape(-1)
        torch.zeros(2)[0].item()
    assert log.calls == [
        "aten.t.default", "aten.addmm.default", "aten._softmax.default", "aten.detach.default", "aten.gt.Scalar", "aten.sum.default",
        "aten._to_copy.default", "aten.t.default", "aten.clone.default", "aten._unsafe_view.default",
        "aten.zeros.default", "aten.select.int", "aten._local_scalar_dense.default",
    ]  # fmt: skip
    assert log.kwargs[6] == {"dtype": torch.float64} and y.grad_fn.name() == "AddmmBackward0"
    y.sum().backward()
    assert x.grad.shape == (3, 4) and len(log.calls) == 13


def test_a_mode_sees_as_one_what_is_one_operator_there():
    x, at = torch.randn(4, 4, requires_grad=True), torch.tensor([0, 2])
    with Log() as log:
        y = torch.ops.aten._unsafe_index(x.clone(), [at]).sum()
        torch.zeros(4, 4).addbmm_(x.unsqueeze(0), x.unsqueeze(0))
        torch._neg_view_copy(x.detach())
        torch.bernoulli(x.detach(), 0.5)
        torch.native_channel_shuffle(x.detach().reshape(1, 4, 2, 2), 2)
    assert log.calls == [
        "aten.clone.default", "aten._unsafe_index.Tensor", "aten.sum.default",
        "aten.zeros.default", "aten.unsqueeze.default", "aten.unsqueeze.default", "aten.addbmm_.default",
        "aten.detach.default", "aten._neg_view_copy.default", "aten.detach.default", "aten.bernoulli.p",
        "aten.detach.default", "aten.view.default", "aten.native_channel_shuffle.default",
    ]  # fmt: skip
    y.backward()
    assert x.grad.sum(1).tolist() == [4, 0, 4, 0]


def test_a_mode_sees_writes_and_backward():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    with Log() as log:
        y.mul_(2)
        y.sum().backward()
        torch.add(x.detach(), 1, out=torch.empty(2))
    assert x.grad.tolist() == [6, 6] and y._version == 1
    assert log.calls[0] == "aten.mul_.Tensor" and "aten.expand.default" in log.calls and "aten.add.out" in log.calls


def test_modes_nest_and_are_off_within_their_handlers():
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert _get_current_dispatch_mode() is outer
            return func(*args, **(kwargs or {})) * 2

    outer = Log()
    with outer, Doubles():
        y = torch.ones(2) + 1
        with _disable_current_modes():
            assert _get_current_dispatch_mode() is None and (torch.ones(1) + 1).item() == 2
    assert y.tolist() == [6, 6]  # ones doubled, plus 1, doubled
    assert outer.calls == ["aten.ones.default", "aten.mul.Tensor", "aten.add.Tensor", "aten.mul.Tensor"]


def test_a_wrapper_has_gradients_though_it_has_no_memory():
    w = Wrapper(torch.tensor([0.0, 1.0]), requires_grad=True)
    y = (w.exp() * w).sum()  # exp keeps its result: a wrapper too
    y.backward()
    assert type(y) is Wrapper and type(w.grad) is Wrapper
    torch.testing.assert_close(w.grad.inner, torch.tensor([1.0, 2 * torch.e]))
    (w * 2).sum().backward()
    torch.testing.assert_close(w.grad.inner, torch.tensor([3.0, 2 * torch.e + 2]))
    assert type(torch.nn.Parameter(w.detach())) is Wrapper and isinstance(
        torch.nn.Parameter(w.detach()), torch.nn.Parameter
    )
    with torch._C._DisableTorchDispatch(), pytest.raises(RuntimeError, match="doesn't have storage"):
        w + 1
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        w.detach().numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Wrapper"):
        w.detach().tolist()


def test_a_wrapper_with_gradients_sees_indexing_by_its_names():
    seen = []

    class Shown(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    x, rows = Shown(torch.randn(5, 3), requires_grad=True), torch.tensor([1, 1, 2])
    x[rows].sum().backward()
    x.index_put((rows,), torch.ones(3)).sum().backward()
    y = x * 1
    y[rows] = torch.ones(3)
    assert x.grad.inner.tolist() == [[1, 1, 1], [2, 2, 2], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    assert [n for n in seen if "index" in n and "put" not in n] == ["aten.index.Tensor"]
    assert not any("_index" in n for n in seen)
    assert {"aten.index_put.default", "aten.index_put_.default"} <= set(seen)


def test_writes_to_a_wrapper_reach_what_it_holds():
    w = Wrapper(torch.zeros(2))
    assert w.add_(1) is w and w.inner.tolist() == [1, 1] and w._version == 1
    view = w.view(2, 1)
    assert type(view) is Wrapper and view.inner.shape == (2, 1)


def test_a_wrapper_is_copied_by_its_clone():
    w = Wrapper(torch.arange(3.0))
    copied = copy.deepcopy(w)
    w.add_(1)
    assert type(copied) is Wrapper and copied.inner.tolist() == [0, 1, 2]


def test_nobody_answers():
    class Refuses(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(
        TypeError, match="Multiple dispatch failed for 'torch.ops.aten.neg.default'; all __torch_dispatch__ handlers"
    ):
        torch.Tensor._make_subclass(Refuses, torch.ones(1)).neg()


def test_custom_operators_are_seen():
    library = torch.library.Library("dispatch_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    with Log() as log:
        assert torch.ops.dispatch_test.twice(torch.ones(1)).tolist() == [2]
    assert log.calls == ["aten.ones.default", "dispatch_test.twice.default"]
    torch.library.register_torch_dispatch(
        "dispatch_test::twice", Log, lambda mode, func, types, args, kwargs: args[0] * 5
    )
    with Log() as log:
        assert torch.ops.dispatch_test.twice(torch.ones(1)).tolist() == [5]
    del library
    gc.collect()


def test_selective_checkpoint_computes_only_what_the_policy_leaves():
    from shim_torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        create_selective_checkpoint_contexts([torch.ops.aten.mm])
    x = torch.randn(3, 3, requires_grad=True)

    def region(x):
        return torch.mm(x, x).sin().cos()

    region(x).sum().backward()
    wanted, x.grad = x.grad, None
    y = checkpoint(
        region,
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default]),
    )
    with Log() as log:
        y.sum().backward()
    torch.testing.assert_close(x.grad, wanted)
    assert "aten.sin.default" in log.calls and log.calls.count("aten.mm.default") == 2  # those of backward


def test_wrappers_are_printed_and_pickled():
    w = Wrapper(torch.ones(2))
    assert repr(torch.nn.Parameter(w)).startswith("Parameter(")
    file = io.BytesIO()
    torch.save(w, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    assert type(again) is Wrapper and again.inner.tolist() == [1.0, 1.0] and again is not w
    again = pickle.loads(pickle.dumps(w))
    assert type(again) is Wrapper and again.inner.tolist() == [1.0, 1.0]


def test_factories_name_their_memory():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((f"{func.__module__}.{func.__name__}", args, dict(kwargs or {})))
            return func(*args, **(kwargs or {}))

    with Log():
        x = torch.zeros(2)
        torch.empty_like(x)
        torch.ops.aten.zeros.default([2])
        torch.ones(2, dtype=torch.int32, device="cpu")
    here = {"device": torch.device("cpu"), "pin_memory": False}
    assert [name for name, _, _ in seen] == [
        f"torch._ops.aten.{n}.default" for n in ("zeros", "empty_like", "zeros", "ones")
    ]
    assert seen[0][2] == here and seen[1][2] == {"pin_memory": False} and seen[2][2] == {}
    assert seen[3][2] == {"dtype": torch.int32, **here}


def test_a_modes_handler_is_no_class_method():
    class Wrong(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with pytest.raises(RuntimeError, match="as a classmethod is not supported"), Wrong():
        torch.ones(2)


def test_torch_shows_the_classes_of_its_core():
    assert torch.OptionalType is torch._C.OptionalType and torch.ScriptMethod is torch._C.ScriptMethod
    assert isinstance(torch.ops.aten.std.correction._schema.arguments[1].type, torch.OptionalType)
