"""What ``__torch_dispatch__`` sees: PyTorch's operators below autograd, where ours are cut otherwise.

``dispatch_leaves.txt`` names operators that are composites here and single operators there; ``PARTS`` has the other way round.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.transforms import torch_dispatch_linear

Body = Callable[..., Any]
PARTS: dict[str, Body] = {}
CALLS: dict[str, tuple[str, ...]] = {}  # the operators that a kernel may be registered for which they call


def _parts(name: str, *calls: str) -> Callable[[Body], Body]:
    """Declares what an operator of PyTorch's consists of there, and which operators that calls."""

    def declare(body: Body) -> Body:
        PARTS[name], CALLS[name] = body, calls
        return body

    return declare


@lru_cache(maxsize=1)
def _wholes() -> dict[str, tuple[str, str]]:
    """PyTorch's operators of the same arguments for those of aten that only ours has: parts that record gradients."""
    from shim_torch._impl.table.operators import records

    known = records()
    found: dict[str, tuple[str, str]] = {}
    for part in known.values():
        whole = part.traits.get("part_of")
        if whole is None or part.ns != "aten":
            continue
        key = next(k for k, r in known.items() if k.partition(".")[0] == f"aten::{whole}" and r.kind == "composite")
        for ending in ("", "_"):
            found[f"aten::{part.name}{ending}"] = f"aten::{whole}{ending}", key.partition(".")[2]
    return found


def overload(qualified: str, name: str) -> Any:
    """The object ``torch.ops.aten.add.Tensor`` of an operator."""
    ops = sys.modules["shim_torch._ops"].ops  # an import statement asks the module for a __path__ each time

    qualified, name = _wholes().get(qualified, (qualified, name))
    namespace, _, operator = qualified.partition("::")
    return getattr(getattr(getattr(ops, namespace), operator), name or "default")


def consists_of_operators(qualified: str, overload: str) -> bool:
    """Whether an operator is one that PyTorch runs as other operators, at every level."""
    from shim_torch._impl.table.operators import records

    name = qualified.removeprefix("aten::") + (f".{overload}" if overload else "")
    if name in PARTS:
        return True
    record = records().get(f"aten::{name}")
    leaves = data.read("dispatch_leaves.txt").split()
    return record is not None and record.kind == "composite" and name not in leaves


def prepare() -> None:
    """Marks the operators; runs once, when the first mode or class with a handler is there."""
    text = data.read("dispatch_leaves.txt")
    names = text.split()
    for qualified in _core.operator_names("aten"):
        if qualified.startswith("_foreach_") or "_polynomial_" in qualified:
            names += [f"{qualified}.{o}" if o else qualified for o in _core.operator_overloads(f"aten::{qualified}")]
    for full in names:
        name, _, variant = full.partition(".")
        _core._mark_for_dispatch(f"aten::{name}", variant, True, None)
    for full, parts in PARTS.items():
        name, _, variant = full.partition(".")
        _core._mark_for_dispatch(f"aten::{name}", variant, False, parts)
    for name, parts in torch_dispatch_linear.OWN_PARTS.items():
        _core._mark_for_dispatch(f"shim::{name}", "", False, parts)
    from shim_torch._impl.transforms import torch_dispatch_formulas

    torch_dispatch_formulas.prepare()


def name_parts() -> None:
    """Names the parts of PyTorch's composites; runs once, when the first kernel of ``torch.library`` replaces one of aten's."""
    for full, calls in CALLS.items():
        name, _, variant = full.partition(".")
        parts = [(f"aten::{part}", of) for part, _, of in (c.partition(".") for c in calls)]
        _core._name_parts(f"aten::{name}", variant, PARTS[full], parts)


@_parts("matmul", "mm", "mv", "bmm", "dot")
def _matmul(self: Any, other: Any) -> Any:
    """Products of every rank by mv, mm and bmm."""
    a, b = self.dim(), other.dim()
    if a == 1 and b == 1:
        return torch.dot(self, other)
    if a == 2 and b == 1:
        return torch.mv(self, other)
    if a == 1 and b == 2:
        return torch.mm(self.unsqueeze(0), other).squeeze(0)
    if a == 2 and b == 2:
        return torch.mm(self, other)
    if a >= 3 and b <= 2:
        wide = other.unsqueeze(1) if b == 1 else other
        rows = torch.mm(self.reshape(math.prod(self.shape[:-1]), self.shape[-1]), wide)
        shape = (*self.shape[:-1], wide.shape[1])
        made = aten._unsafe_view(rows, shape)
        return made.squeeze(-1) if b == 1 else made
    return _batched(self, other)


def _batched(self: Any, other: Any) -> Any:
    left = self.unsqueeze(0) if self.dim() == 1 else self
    right = other.unsqueeze(1) if other.dim() == 1 else other
    batch = _core.broadcast_shapes([left.shape[:-2], right.shape[:-2]])
    count = math.prod(batch)
    one = left.expand(*batch, *left.shape[-2:]).reshape(count, *left.shape[-2:])
    two = right.expand(*batch, *right.shape[-2:]).reshape(count, *right.shape[-2:])
    made = aten._unsafe_view(torch.bmm(one, two), (*batch, left.shape[-2], right.shape[-1]))
    made = made.squeeze(-2) if self.dim() == 1 else made
    return made.squeeze(-1) if other.dim() == 1 else made


@_parts("softmax.int", "_softmax")
def _softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    return aten._softmax(self if dtype is None else self.to(dtype), dim, False)


@_parts("log_softmax.int", "_log_softmax")
def _log_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    return aten._log_softmax(self if dtype is None else self.to(dtype), dim, False)


@_parts("square", "pow.Tensor_Scalar")
def _square(self: Any) -> Any:
    return self.pow(2)


@_parts("reshape", "clone")
def _reshape(self: Any, shape: Any) -> Any:
    """A view where strides allow it, else a copy seen as the shape."""
    sizes = _core.infer_size(tuple(shape), self.numel())
    if _core.can_view(self, sizes):
        return self.view(sizes)
    return aten._unsafe_view(self.clone(memory_format=_core.contiguous_format), sizes)


def _to(self: Any, dtype: Any, device: Any, copy: bool, memory_format: Any) -> Any:
    """The tensor itself where nothing changes, else ``_to_copy``."""
    same = (dtype is None or dtype == self.dtype) and (device is None or _core.device(device) == self.device)
    fits = memory_format in (None, _core.preserve_format) or self.is_contiguous(memory_format=memory_format)
    if same and fits and not copy:
        return self
    form = None if memory_format is _core.preserve_format else memory_format
    given = {"dtype": dtype, "device": device, "memory_format": form}
    return aten._to_copy(self, **{k: v for k, v in given.items() if v is not None})


@_parts("contiguous", "clone")
def _contiguous(self: Any, memory_format: Any = _core.contiguous_format) -> Any:
    return self if self.is_contiguous(memory_format=memory_format) else self.clone(memory_format=memory_format)


def _differs_in_vmap() -> bool:
    """Whether a ``vmap`` with ``randomness="different"`` runs."""
    from shim_torch._impl.transforms.levels import running_vmap

    vmap = running_vmap()
    return vmap is not None and vmap.randomness == "different"


@_parts("dropout", "native_dropout", "bernoulli_.float")
def _dropout(input: Any, p: float, train: bool) -> Any:
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return input.mul(torch.zeros((), dtype=input.dtype, device=input.device))
    if input.device.type == "cuda":
        return aten.native_dropout(input, p, train)[0]
    if _differs_in_vmap():  # items that are the same until here: nothing is there that the draws could be written to
        noise = torch.bernoulli(torch.full_like(input, 1 - p))
    else:
        noise = torch.empty_like(input).bernoulli_(1 - p)
    return input * noise.div_(1 - p)


@_parts("layer_norm", "native_layer_norm")
def _layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    return aten.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@_parts("group_norm", "native_group_norm")
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    batch, channels, *rest = input.shape
    settings = (batch, channels, math.prod(rest), num_groups, eps)
    return aten.native_group_norm(input.contiguous(), weight, bias, *settings)[0]


@_parts("nll_loss", "nll_loss_forward")
def _nll_loss(self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    return aten.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


@_parts("nll_loss_nd", "nll_loss_forward")
def _nll_loss_nd(self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    if self.dim() in (1, 2):
        return _nll_loss(self, target, weight, reduction, ignore_index)
    from shim_torch._impl.records.nn.cross_entropy import nll_loss_nd

    return nll_loss_nd(self, target, weight, reduction, ignore_index)


@_parts("batch_norm", "native_batch_norm")
def _batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    *_: Any,
) -> Any:
    given = (input, weight, bias, running_mean, running_var, training, momentum, eps)
    return aten.native_batch_norm(*given)[0]


@_parts("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(self: Any) -> Any:
    return aten.log_sigmoid_forward(self)[0]


@_parts("adaptive_avg_pool2d", "_adaptive_avg_pool2d", "mean.dim")
def _adaptive_avg_pool2d(self: Any, output_size: Any) -> Any:
    """A mean where one value a channel is asked for."""
    if tuple(output_size) == (1, 1):
        return self.mean((-1, -2), keepdim=True)
    return aten._adaptive_avg_pool2d(self, output_size)


@_parts("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    one = aten.grid_sampler_2d if input.dim() == 4 else aten.grid_sampler_3d
    return one(input, grid, interpolation_mode, padding_mode, align_corners)


_parts("linear", "addmm", "mm", "mv", "bmm")(torch_dispatch_linear.linear)


@_parts("to.dtype", "_to_copy")
def _to_dtype(self: Any, dtype: Any, wait: bool, copy: bool, form: Any) -> Any:
    return _to(self, dtype, None, copy, form)


@_parts("to.device", "_to_copy")
def _to_device(self: Any, device: Any, dtype: Any, wait: bool, copy: bool, form: Any) -> Any:
    return _to(self, dtype, device, copy, form)


@_parts("to.dtype_layout", "_to_copy")
def _to_layout(self: Any, dtype: Any, layout: Any, device: Any, pin: Any, wait: bool, copy: bool, form: Any) -> Any:
    return _to(self, dtype, device, copy, form)


@_parts("to.other", "_to_copy")
def _to_other(self: Any, other: Any, wait: bool, copy: bool, form: Any) -> Any:
    return _to(self, other.dtype, other.device, copy, form)
