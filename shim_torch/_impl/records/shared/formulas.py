"""What bodies and gradient formulas of several families share; records themselves never live here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, shim
from shim_torch._impl.table.rules import NARROW, wrap_dims


def flat(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a formula whose slope is constant in pieces: as in PyTorch its own gradient with respect to the input is zeros.

    Without it that gradient is absent, and asking for it an error.
    """
    formula.flat = True  # type: ignore[attr-defined]
    return formula


def one_pass(g: Any, saved: Any, name: str, *numbers: float) -> Any:
    """g · f' in one kernel, ``shim::pointwise_backward``; None where there is none, and where it is to be differentiated itself."""
    if not _core.one_pass(g, saved):
        return None
    return shim.pointwise_backward(g, saved, name, *map(float, numbers))


def one_pass_on_cuda(g: Any, saved: Any, name: str, *numbers: float) -> Any:
    """The same of the gradients that have such a kernel on CUDA alone."""
    return one_pass(g, saved, name, *numbers) if g.is_cuda else None


@contextlib.contextmanager
def recording() -> Iterator[None]:
    """Within it operators record history, in a ``__torch_dispatch__`` handler too: for gradients that are found by the engine."""
    below, enabled = _core._set_below_dispatch(False), _core.is_grad_enabled()
    _core._set_grad_enabled(True)
    try:
        yield
    finally:
        _core._set_grad_enabled(enabled)
        _core._set_below_dispatch(below)


def gradients(output: Any, inputs: Sequence[Any], g: Any, create_graph: bool = False) -> tuple[Any, ...]:
    """The gradients of ``output`` by ``inputs`` along ``g``, found by the engine: ``torch.autograd.grad`` of one output."""
    if g.shape != output.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of {g.shape} and output[0] has a shape of {output.shape}."
        )
    start = g if g.dtype == output.dtype else g.to(output.dtype)
    return _core.run_backward((output,), [start], tuple(inputs), create_graph, create_graph, False, False)


def apart(x: Any) -> Any:
    """``x`` with a node of its own in the history: the gradient by it leaves out what other inputs have of ``x``."""
    return x.view_as(x) if x.requires_grad else _core._require_grad(x.detach())


_linear = threading.local()


@contextlib.contextmanager
def for_tangents() -> Iterator[None]:
    """Within it gradients are taken to be differentiated by what comes in: tangents are found that way."""
    before = getattr(_linear, "wanted", False)
    _linear.wanted = True
    try:
        yield
    finally:
        _linear.wanted = before


def without_slope(name: str, **given: Any) -> None:
    """Refuses arguments of an operator that it has no gradient by, where they ask for one, with PyTorch's text."""
    for argument, t in given.items():
        if t is not None and t.requires_grad and _core.is_grad_enabled():
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. This input cannot have "
                "requires_grad True."
            )


def once(gradient: Any, given: Any, name: str) -> Any:
    """A gradient that PyTorch does not differentiate again, by ``given`` or by what came in: backward through it refuses.

    Forward mode reads the formulas' own derivatives and is let through.
    """
    if _core._get_tangent(given) is not None:
        raise NotImplementedError(f"Trying to use forward AD with aten::{name} that does not support it.")
    if not _core.is_grad_enabled() or _core._is_dual_level_open() or tangents_wanted():
        return gradient
    return shim.underived(gradient, given, name)


def tangents_wanted() -> bool:
    """Whether gradients run :func:`for_tangents`."""
    return getattr(_linear, "wanted", False)


def no_tangent_behind(t: Any, name: str) -> Any:
    """``t``, for an operator made of others whose gradient ``name`` has no tangent in PyTorch: backward refuses where ``t`` has one."""
    if not (_core.is_grad_enabled() and t.requires_grad) or _core._get_tangent(t) is None:
        return t

    def refuse(g: Any) -> None:
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet.\nPlease file "
            "an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can "
            "prioritize its implementation or submit a PR adding the implementation to derivatives.yaml"
        )

    alias = t.view_as(t)
    alias.register_hook(refuse)
    return alias


def gradient_once(t: Any, name: str) -> Any:
    """``t``, for an operator made of others whose gradient is to be :func:`once`."""
    if not (t.requires_grad and _core.is_grad_enabled() and _core.unseen(t)) or _core._is_dual_level_open():
        return t
    alias = t.view_as(t)
    alias.register_hook(lambda g: once(g, t, name))
    return alias


def sizes_text(sizes: Any) -> str:
    """Sizes as PyTorch's errors show them: [2, 3]."""
    return "[" + ", ".join(map(str, sizes)) + "]"


def binary_cross_entropies(xp: Any, chance: Any, target: Any) -> Any:
    """-target log chance - (1 - target) log (1 - chance) of each element, the logarithms at least -100 as PyTorch's."""
    return (target - 1) * xp.maximum(xp.log1p(-chance), -100) - target * xp.maximum(xp.log(chance), -100)


def logit_cross_entropies(xp: Any, logit: Any, target: Any) -> Any:
    """The same of the chances 1 / (1 + exp(-logit)), which need not be computed."""
    return (1 - target) * logit + xp.maximum(-logit, 0) + xp.log1p(xp.exp(-abs(logit)))


def zeros_as(g: Any) -> Any:
    """The gradient of what is flat nearly everywhere."""
    return g.new_zeros(g.shape)


def speaks_for_itself(*tensors: Any) -> bool:
    """Whether one of the tensors is of a class that operators are shown to: its values are not to be asked for."""
    plain: Any = _core.Tensor
    return any(type(t) is not plain and type(t).__torch_dispatch__ != plain.__torch_dispatch__ for t in tensors)


def differentiated(*tensors: Any) -> bool:
    """Whether what is made of the tensors has derivatives that somebody may ask for."""
    return (_core.is_grad_enabled() and any(t.requires_grad for t in tensors)) or _core._is_dual_level_open()


def alone_on_cuda(g: Any, *saved: Any) -> bool:
    """Whether a gradient of a CUDA tensor may be one kernel, or added to its zeros in place: nobody looks on or differentiates it."""
    return bool(_core.unseen_on_cuda(g)) and not differentiated(g, *saved)


def widened(t: Any) -> Any:
    """``t`` in float32 where it is of half precision: what follows is rounded once, at its end."""
    return t.float() if t.dtype in NARROW else t


def rows_added(out: Any, index: Any, rows: Any) -> Any:
    """``out`` and ``rows`` at ``index``, those of half precision rounded at each that is added, as PyTorch does on the CPU."""
    if out.dtype in NARROW and out.is_cpu:
        return aten.index_put(out, (index,), rows, True)
    return out.index_add(0, index, rows)


def compared(t: Any) -> Any:
    """``t`` as it is compared with a number: PyTorch rounds the number to half precision on CUDA, and on a CPU it does not."""
    return widened(t) if t.device.type == "cpu" else t


def conjugate(x: Any) -> Any:
    """The conjugate of a tensor or a number; of a real one itself."""
    if isinstance(x, _core.TensorBase):
        return x.conj() if x.is_complex() else x
    return x.conjugate() if isinstance(x, complex) else x


def axes_of(dim: Any, ndim: int) -> Any:
    """``axis=`` of NumPy for reduced dims (None: all)."""
    return wrap_dims(dim, ndim) if ndim else ()


def with_dims(g: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a reduction of something of ``shape``, with the reduced dims back at size 1."""
    if keepdim or not len(shape):
        return g
    for d in wrap_dims(dim, len(shape)):
        g = g.unsqueeze(d)
    return g


def spread(g: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The gradient of a reduction, given to each of the elements that were reduced."""
    return with_dims(g, shape, dim, keepdim).expand(shape)


def reduced_count(shape: Any, dim: Any) -> int:
    """How many elements each result is reduced from."""
    n = 1
    for d in wrap_dims(dim, len(shape)):
        n *= shape[d]
    return n


def padded(g: Any, shape: Any, place: Callable[[Any], Any]) -> Any:
    """The gradient of a view of a part: zeros of ``shape`` with ``g`` in the part that ``place`` views."""
    full = g.new_zeros(shape)
    place(full).copy_(g)
    return full


def kept(g: Any, keep: Any) -> Any:
    """g where it is kept, else 0: an infinite g times 0 would be nan."""
    return g.masked_fill(keep.logical_not(), 0)
