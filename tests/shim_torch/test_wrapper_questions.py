"""What a subclass leaves to its ``__torch_dispatch__``: dispatch_sizes_strides_policy, dispatch_device, dispatch_layout."""

import pytest

import shim_torch as torch

aten, prim = torch.ops.aten, torch.ops.prim


def subclass(answers, wrapper=True, **policy):
    """A tensor of 4x2 whose class answers operators by that dict, NotImplemented for the others; its calls."""
    calls = []

    class Answering(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append((func, args[1:]))
            return answers.get(func, NotImplemented)

    data = torch.zeros(4, 2)
    if wrapper:
        made = torch.Tensor._make_wrapper_subclass(
            Answering, data.size(), dtype=data.dtype, device=data.device, **policy
        )
    else:
        made = torch.Tensor._make_subclass(Answering, data, True, **policy)
    return made, calls


QUESTIONS = [
    ("sizes", lambda t: t.size(), aten.sym_size.default, (5, 3), (5, 3), (4, 2)),
    ("sizes", lambda t: t.shape, aten.sym_size.default, [5, 3], (5, 3), (4, 2)),
    ("sizes", lambda t: t.numel(), aten.sym_numel.default, 15, 15, 8),
    ("sizes", lambda t: t.stride(), aten.sym_stride.default, (9, 4), (9, 4), (2, 1)),
    ("strides", lambda t: t.stride(), aten.sym_stride.default, (9, 4), (9, 4), (2, 1)),
    ("strides", lambda t: t.is_contiguous(), aten.is_contiguous.default, False, False, True),
]


@pytest.mark.parametrize("wrapper", [True, False])
@pytest.mark.parametrize(("policy", "ask", "func", "answer", "seen", "own"), QUESTIONS)
def test_geometry(wrapper, policy, ask, func, answer, seen, own):
    t, calls = subclass({func: answer}, wrapper, dispatch_sizes_strides_policy=policy)
    assert ask(t) == seen and calls == [(func, ())]
    t, _ = subclass({func: None}, wrapper, dispatch_sizes_strides_policy=policy)
    assert ask(t) == own
    t, calls = subclass({}, wrapper, dispatch_sizes_strides_policy=policy)
    with pytest.raises(TypeError, match=f"Multiple dispatch failed for 'torch.ops.{func.overloadpacket}'"):
        ask(t)
    t, calls = subclass({}, wrapper)
    assert ask(t) == own and not calls


@pytest.mark.parametrize("wrapper", [True, False])
def test_dims(wrapper):
    t, calls = subclass({aten.dim.default: 7}, wrapper, dispatch_sizes_strides_policy="sizes")
    assert (t.dim(), t.ndim, len(calls)) == (7, 7, 2)
    t, _ = subclass({}, wrapper, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.dim'"):
        t.dim()
    t, _ = subclass({aten.dim.default: None}, wrapper, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(RuntimeError, match="dim returned invalid type NoneType, expected int"):
        t.dim()


def test_strides_alone_leave_sizes():
    t, calls = subclass({}, dispatch_sizes_strides_policy="strides")
    assert (t.shape, t.dim(), t.numel(), calls) == ((4, 2), 2, 8, [])


def test_contiguous_asks():
    t, calls = subclass({aten.is_contiguous.default: True}, dispatch_sizes_strides_policy="strides")
    assert t.contiguous() is t
    t, _ = subclass({aten.is_contiguous.memory_format: True}, dispatch_sizes_strides_policy="strides")
    assert t.is_contiguous(memory_format=torch.channels_last)
    t, _ = subclass({aten.is_contiguous.default: False}, dispatch_sizes_strides_policy="strides")
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        t.contiguous()


def test_device_and_layout():
    t, calls = subclass({prim.device.default: torch.device("meta")}, dispatch_device=True)
    assert t.device.type == "meta" and calls == [(prim.device.default, ())]
    assert torch.ones(1).type_as(t).device.type == "meta"
    t, _ = subclass({}, dispatch_device=True)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.prim.device'"):
        t.device
    t, _ = subclass({prim.layout.default: torch.sparse_csr}, dispatch_layout=True)
    assert t.layout == torch.sparse_csr
    t, _ = subclass({prim.layout.default: torch.sparse_csr})
    assert t.layout == torch.strided


def test_pointers_ask_for_the_number_of_elements():
    t, calls = subclass({aten.numel.default: None}, wrapper=False, dispatch_sizes_strides_policy="sizes")
    t.data_ptr()
    assert calls == [(aten.numel.default, ())]


def test_unknown_policy():
    with pytest.raises(ValueError, match="Unknown sizes_strides_policy: shapes; expected 'strides' or 'sizes'"):
        subclass({}, dispatch_sizes_strides_policy="shapes")
