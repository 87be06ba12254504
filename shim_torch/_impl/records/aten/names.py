"""Operators that torch.ops.aten has, and that torch or its tensors have as Python functions, properties or methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import apart, gradients, recording
from shim_torch._impl.table.aten_declare import by_parts
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite
from shim_torch._impl.tensor.einsum import einsum

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _name(schema: str, body: Callable[..., Any], **options: Any) -> None:
    composite(schema, **_HIDDEN, **options)(body)


# --- of lists ---------------------------------------------------------------------------------------------------------

_name(
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    lambda equation, tensors, path: einsum(equation, *tensors),
    autocast="lower_precision",
)

# --- drawn into a copy ------------------------------------------------------------------------------------------------

for _call, _settings in (
    ("cauchy", "float median=0.0, float sigma=1.0"),
    ("exponential", "float lambd=1.0"),
    ("geometric", "float p"),
    ("log_normal", "float mean=1.0, float std=2.0"),
    ("uniform", "float from=0.0, float to=1.0"),
):

    def _drawn(method: str) -> Callable[..., Any]:
        def body(self: Any, *settings: Any) -> Any:
            *numbers, generator = settings
            return getattr(torch.empty_like(self), method)(*numbers, generator=generator)

        return body

    _name(f"{_call}(Tensor self, {_settings}, *, Generator? generator=None) -> Tensor", _drawn(_call + "_"))

# --- views and copies -------------------------------------------------------------------------------------------------

_name("real(Tensor(a) self) -> Tensor(a)", lambda self: self.real, pointwise=True)
_name("imag(Tensor(a) self) -> Tensor(a)", lambda self: self.imag, pointwise=True)
_name("mT(Tensor(a) self) -> Tensor(a)", lambda self: self.mT)
_name("mH(Tensor(a) self) -> Tensor(a)", lambda self: self.mH)
_name("matrix_H(Tensor(a) self) -> Tensor(a)", lambda self: self.H)
_name("numpy_T(Tensor(a) self) -> Tensor(a)", lambda self: self.T)
_name(
    "chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    lambda self, memory_format: self.to(_core.complex32),
)
_name(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    lambda self, src, non_blocking: self.clone().copy_(src, non_blocking),
)
_name(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    lambda self, size, memory_format: self.resize_(size, memory_format=memory_format),
)
_name("zero(Tensor self) -> Tensor", lambda self: self.clone().zero_(), expanded="same_value")
_name("_conj_copy(Tensor self) -> Tensor", lambda self: self.conj().clone())
_name("_neg_view_copy(Tensor self) -> Tensor", lambda self: self.neg())
_name("_reshape_copy(Tensor self, SymInt[] size) -> Tensor", lambda self, size: self.reshape(size).clone())
for _cast in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    _name(
        f"_cast_{_cast}(Tensor self, bool non_blocking=False) -> Tensor",
        (lambda cast: lambda self, non_blocking: getattr(self, cast)())(_cast.lower()),
    )

# --- questions --------------------------------------------------------------------------------------------------------

for _question in ("is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "is_inference"):
    _name(f"{_question}(Tensor self) -> bool", (lambda asked: lambda self: getattr(self, asked)())(_question))
for _question in ("is_leaf", "retains_grad"):
    _name(f"{_question}(Tensor self) -> bool", (lambda asked: lambda self: getattr(self, asked))(_question))
_name("is_contiguous(Tensor self) -> bool", lambda self: self.is_contiguous())
_name(
    "is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
    lambda self, memory_format: self.is_contiguous(memory_format=memory_format),
)
for _question in ("numel", "dim", "storage_offset", "get_device"):
    _name(f"{_question}(Tensor self) -> int", (lambda asked: lambda self: getattr(self, asked)())(_question))
_name("_version(Tensor self) -> int", lambda self: self._version)
_name("size.int(Tensor self, int dim) -> int", lambda self, dim: self.size(dim))
_name("size(Tensor self) -> int[]", lambda self: list(self.shape))
_name("stride.int(Tensor self, int dim) -> int", lambda self, dim: self.stride(dim))
_name("stride(Tensor self) -> int[]", lambda self: list(self.stride()))
_name("can_cast(ScalarType from_, ScalarType to) -> bool", lambda from_, to: _core.can_cast(from_, to))
_name(
    "promote_types(ScalarType type1, ScalarType type2) -> ScalarType",
    lambda type1, type2: _core.promote_types(type1, type2),
)

# --- functions --------------------------------------------------------------------------------------------------------

_name("relu6(Tensor self) -> Tensor", lambda self: aten.hardtanh(self, 0.0, 6.0), pointwise=True)
_name("nonzero_numpy(Tensor self) -> Tensor[]", lambda self: list(self.nonzero(as_tuple=True)))
for _loss in ("nll_loss", "nll_loss2d"):
    _name(
        f"{_loss}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
        lambda self, target, weight, reduction, ignore_index: aten.nll_loss_nd(
            self, target, weight, reduction, ignore_index
        ),
        **({"autocast": "float32"} if _loss == "nll_loss" else {}),
    )


@composite(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN,
)
def unique_consecutive(self, return_inverse, return_counts, dim):
    """Runs of equal elements, or slices along ``dim``, made one; the place of each among them, and their counts."""
    if dim is None:
        return aten._unique_consecutive(self, return_inverse, return_counts, None)
    return aten.unique_dim_consecutive(self, dim, True, return_counts)


# --- gradients --------------------------------------------------------------------------------------------------------


def _pulled(g: Any, function: Callable[[Any], Any], at: Any) -> Any:
    """The gradient of ``function`` at ``at``, weighted by ``g``."""
    keep = _core.is_grad_enabled()
    with recording():
        x = apart(at if keep else at.detach())
        (found,) = gradients(function(x), (x,), g, keep)
    return found


for _shrink in ("hardshrink", "softshrink"):
    _name(
        f"{_shrink}_backward(Tensor grad_{'out' if _shrink == 'hardshrink' else 'output'}, Tensor self, Scalar lambd) -> Tensor",
        (lambda shrink: lambda g, self, lambd: _pulled(g, lambda x: by_parts(shrink)(x, lambd), self))(_shrink),
    )
for _loss, _setting in (("huber_loss", "delta"), ("smooth_l1_loss", "beta")):
    _name(
        f"{_loss}_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float {_setting}) -> Tensor",
        (
            lambda loss, setting: (
                lambda g, self, target, reduction, value: _pulled(
                    g,
                    lambda x: by_parts(loss)(x, target, reduction, value),
                    self,
                )
            )
        )(_loss, _setting),
    )
_name(
    "soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
    lambda g, self, target, reduction: _pulled(g, lambda x: by_parts("soft_margin_loss")(x, target, reduction), self),
)
_name(
    "binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    lambda g, self, target, weight, reduction: _pulled(
        g,
        lambda x: by_parts("binary_cross_entropy")(x, target, weight, reduction),
        self,
    ),
)
for _mode, _long in (("reflection", "reflect"), ("replication", "replicate")):
    for _n in (1, 2, 3):
        _name(
            f"{_mode}_pad{_n}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * _n}] padding) -> Tensor",
            (lambda mode: lambda g, self, padding: _pulled(g, lambda x: aten.pad(x, list(padding), mode), self))(_long),
        )
for _n in (2, 3):
    _name(
        f"avg_pool{_n}d_backward(Tensor grad_output, Tensor self, int[{_n}] kernel_size, int[{_n}] stride, int[{_n}] padding,"
        " bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
        (
            lambda n: (
                lambda g, self, size, stride, padding, ceil_mode, count_include_pad, divisor_override: _pulled(
                    g,
                    lambda x: by_parts(f"avg_pool{n}d")(
                        x, size, stride, padding, ceil_mode, count_include_pad, divisor_override
                    ),
                    self,
                )
            )
        )(_n),
    )
    _name(
        f"_adaptive_avg_pool{_n}d_backward(Tensor grad_output, Tensor self) -> Tensor",
        (lambda n: lambda g, self: _pulled(g, lambda x: by_parts(f"adaptive_avg_pool{n}d")(x, g.shape[-n:]), self))(_n),
    )
    for _forward, _settings in (
        (
            f"max_pool{_n}d_with_indices",
            ", int[{0}] kernel_size, int[{0}] stride, int[{0}] padding, int[{0}] dilation, bool ceil_mode",
        ),
        (f"adaptive_max_pool{_n}d", ""),
    ):
        _name(
            f"{_forward}_backward(Tensor grad_output, Tensor self{_settings.format(_n)}, Tensor indices) -> Tensor",
            (
                lambda n: (
                    lambda g, self, *rest: (
                        self.new_zeros(self.shape)
                        .flatten(-n)
                        .scatter_add(-1, rest[-1].flatten(-n), g.flatten(-n))
                        .reshape(self.shape)
                    )
                )
            )(_n),
            **({"refuses": (("bic", "max_pool2d_backward"),)} if _forward == "max_pool2d_with_indices" else {}),
        )
_name(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    lambda g, input_sizes, dim, size, step: _pulled(g, lambda x: x.unfold(dim, size, step), g.new_zeros(input_sizes)),
)
_name(
    "trace_backward(Tensor grad, SymInt[] sizes) -> Tensor",
    lambda g, sizes: _pulled(g, lambda x: x.trace(), g.new_zeros(sizes)),
)
_name(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    lambda g, sizes, offset, dim1, dim2: _pulled(g, lambda x: x.diagonal(offset, dim1, dim2), g.new_zeros(sizes)),
)
_name(
    "index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor",
    lambda g, sizes, dim, index: g.new_zeros(sizes).index_add(dim, index, g),
)
_name(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse)"
    " -> Tensor",
    lambda g, indices, num_weights, padding_idx, scale_grad_by_freq, sparse: _pulled(
        g,
        lambda x: aten.embedding(x, indices, padding_idx, scale_grad_by_freq, sparse),
        g.new_zeros((num_weights, g.size(-1))),
    ),
)
