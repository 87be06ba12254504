"""Named shape and dtype rules of operator records.

A dtype rule returns the result dtype, or ``(compute dtype, result dtype)``; a shape rule returns the sizes (a list of
them for several results). Rules marked ``takes_all`` get every operand: the tensors, and numbers in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shim_torch._impl.native import _core

Rule = Callable[..., Any]
NARROW = (_core.float16, _core.bfloat16)
WIDE = (_core.float32, _core.float64)
FLOATS = (*NARROW, *WIDE)  # those that kernels of real numbers have
type_name = _core.scalar_name


def not_implemented(kernel: str, dtype: Any) -> NotImplementedError:
    """PyTorch's error for a dtype that a kernel does not have; what is written to is looked at first (lacking_kernel.cpp)."""
    error = NotImplementedError(f""""{kernel}" not implemented for '{type_name(dtype)}'""")
    error.compute_dtype = dtype  # type: ignore[attr-defined]
    return error


def no_meta_kernel(name: str) -> NotImplementedError:
    """PyTorch's error for an operator whose answer needs values, where there are none."""
    return NotImplementedError(
        f"aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. "
        "You may have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in "
        "order to use this operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
        "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
    )


def gives_nothing(schema: Any) -> bool:
    """Whether an operator only writes to its arguments: without a fake of its own, doing nothing is its fake, as in PyTorch."""
    return bool(schema.is_mutable) and not schema.returns and not schema.name.startswith("aten::")


def resized_out(out: Any, shape: Any) -> Any:
    """``out`` in the given shape, with PyTorch's warning where it held elements in another."""
    if tuple(out.shape) != tuple(shape):
        if out.numel():
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
                f"required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs will "
                "not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, "
                "to zero elements with t.resize_(0).",
                stacklevel=3,
            )
        out.resize_(shape)
    return out


def underived(name: str) -> Rule:
    """A gradient formula that PyTorch does not have: results say that they need a gradient, backward refuses."""

    def formula(g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return formula


_WORDS = {
    "Float": "float",
    "Double": "double",
    "Long": "long int",
    "Int": "int",
    "Short": "short int",
    "Char": "signed char",
    "Byte": "unsigned char",
    "Bool": "bool",
    "Half": "c10::Half",
    "BFloat16": "c10::BFloat16",
    "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
}


def type_word(dtype: Any) -> str:
    """A dtype as C++ names it, which is what some of PyTorch's errors print."""
    name = type_name(dtype)
    return _WORDS.get(name, name)


def _takes_all(rule: Rule) -> Rule:
    rule.takes_all = True  # type: ignore[attr-defined]
    return rule


def same(self: Any) -> Any:
    """Shape (or, as a dtype rule ``same_dtype``) of ``self``."""
    return self.shape


def same_order(self: Any) -> tuple[Any, ...]:
    """The order of the input's dims in memory, for ``order=``; C order of one that is expanded."""
    strides = self.stride()
    return (None if 0 in strides else sorted(range(len(strides)), key=lambda d: -strides[d]),)


def same_dtype(self: Any) -> Any:
    """The dtype of ``self``."""
    return self.dtype


@_takes_all
def broadcast(*arguments: Any) -> tuple[int, ...]:
    """The broadcast shape of all tensor arguments."""
    return _core.broadcast_shapes([a.shape for a in arguments if isinstance(a, _core.TensorBase)])


@_takes_all
def promote(*arguments: Any) -> Any:
    """PyTorch's promotion over all tensors and numbers in tensor places."""
    return _core.result_type(*arguments)


@_takes_all
def int_to_float(*arguments: Any) -> Any:
    """Promotion, with integers and bool becoming the default dtype (sin, true division)."""
    dtype = _core.result_type(*arguments)
    return dtype if dtype.is_floating_point or dtype.is_complex else _core.get_default_dtype()


@_takes_all
def comparison(*arguments: Any) -> tuple[Any, Any]:
    """Computed in the promoted dtype, answers bool."""
    return _core.result_type(*arguments), _core.bool


def holding(self: Any, value: Any) -> Any:
    """The dtype of ``self``, which must be able to hold the number ``value``."""
    if not isinstance(value, _core.TensorBase):
        _core.check_fits(value, self.dtype)
    return self.dtype


def real_pair(first: Any, second: Any) -> Any:
    """The dtype of two real tensors that make a complex one: half, float or double, the same for both."""
    reals = (_core.float32, _core.float64, _core.float16)
    if first.dtype not in reals or second.dtype not in reals:
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{type_name(first.dtype)} and {type_name(second.dtype)}"
        )
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {type_name(first.dtype)} but got scalar type {type_name(second.dtype)} for second "
            "argument"
        )
    return first.dtype


def fixed(dtype_name: str) -> Rule:
    """Always this dtype, computed in the inputs' own."""

    @_takes_all
    def rule(*_: Any) -> tuple[None, Any]:
        return None, getattr(_core, dtype_name)

    return rule


def accumulation_dtype(dtype: Any) -> Any:
    """What a kernel computes and sums in: float64 for itself, float32 for narrower ones."""
    return dtype if dtype == _core.float64 else _core.float32


def sum_dtype(self: Any, dtype: Any) -> Any:
    """Integers and bool sum in int64; ``dtype=`` decides otherwise."""
    if dtype is not None:
        return dtype
    return self.dtype if self.dtype.is_floating_point or self.dtype.is_complex else _core.int64


def wrap_dim(dim: int, ndim: int) -> int:
    """Negative dims counted from the end; IndexError as PyTorch's."""
    span = max(ndim, 1)
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim % span


def wrap_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """A dim argument (None, int or list; empty and None mean all) as sorted non-negative dims, duplicates refused."""
    if dim is None or (isinstance(dim, Sequence) and not dim):
        return tuple(range(ndim))
    dims = [wrap_dim(d, ndim) for d in (dim if isinstance(dim, Sequence) else (dim,))]
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return tuple(sorted(dims)) if ndim else ()


def reduced(self: Any, dim: Any, keepdim: bool) -> tuple[int, ...]:
    """Shape after reducing ``dim``."""
    dims = set(wrap_dims(dim, len(self.shape)))
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(self.shape))
    return tuple(n for i, n in enumerate(self.shape) if i not in dims)


_SCALAR_WORDS = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def scalar_word(dtype: Any) -> str:
    """A dtype as errors name it: ``Float``, ``Long``; the newer ones as torch does."""
    name = str(dtype).removeprefix("torch.")
    return _SCALAR_WORDS.get(name, name)
