"""What follows from the views: their in-place forms, which change the tensor's own geometry, and their copies."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite, node_name

# (schema of the arguments, (view method, name of its node)): the tensor takes the place of its view.
_INPLACE = {
    "squeeze_(Tensor(a!) self)": ("squeeze", "SqueezeBackward3"),
    "squeeze_.dim(Tensor(a!) self, int dim)": ("squeeze", "SqueezeBackward4"),
    "squeeze_.dims(Tensor(a!) self, int[] dim)": ("squeeze", "SqueezeBackward5"),
    "unsqueeze_(Tensor(a!) self, int dim)": ("unsqueeze", "UnsqueezeBackward1"),
    "transpose_(Tensor(a!) self, int dim0, int dim1)": ("transpose", "TransposeBackward1"),
    "swapdims_(Tensor(a!) self, int dim0, int dim1)": ("transpose", "TransposeBackward1"),
    "swapaxes_(Tensor(a!) self, int axis0, int axis1)": ("transpose", "TransposeBackward1"),
    "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)": (
        "as_strided",
        "AsStridedBackward1",
    ),
}
_COPIES: dict[str, tuple[str, dict[str, Any]]] = {
    "alias_copy(Tensor self)": (
        "alias",
        {"batching": "pointwise", "out_dtype": "structured", "out_error_name": "aten::alias_copy"},
    ),
    "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)": (
        "as_strided",
        {"out_dtype": "structured", "out_error_name": "aten::as_strided_copy"},
    ),
    "detach_copy(Tensor self)": ("detach", {}),
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)": (
        "diagonal",
        {"out_dtype": "structured", "out_error_name": "aten::diagonal_copy"},
    ),
    "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False)": (
        "expand",
        {"out_dtype": "structured", "out_error_name": "aten::expand_copy", "out_resize": "first"},
    ),
    "permute_copy(Tensor self, int[] dims)": (
        "permute",
        {"out_dtype": "structured", "out_error_name": "aten::permute_copy", "out_resize": "first"},
    ),
    "select_copy.int(Tensor self, int dim, SymInt index)": ("select", {}),
    "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)": ("slice", {}),
    "squeeze_copy(Tensor self)": ("squeeze", {"out_dtype": "structured", "out_error_name": "aten::squeeze_copy"}),
    "squeeze_copy.dim(Tensor self, int dim)": (
        "squeeze",
        {"out_dtype": "structured", "out_error_name": "aten::squeeze_copy"},
    ),
    "squeeze_copy.dims(Tensor self, int[] dim)": (
        "squeeze",
        {"out_dtype": "structured", "out_error_name": "aten::squeeze_copy"},
    ),
    "t_copy(Tensor self)": ("t", {"out_dtype": "structured", "out_error_name": "aten::t_copy"}),
    "transpose_copy.int(Tensor self, int dim0, int dim1)": (
        "transpose",
        {"out_dtype": "structured", "out_error_name": "aten::transpose_copy"},
    ),
    "unfold_copy(Tensor self, int dimension, int size, int step)": (
        "unfold",
        {"out_dtype": "structured", "out_error_name": "aten::unfold_copy"},
    ),
    "unsqueeze_copy(Tensor self, int dim)": (
        "unsqueeze",
        {"out_dtype": "structured", "out_error_name": "aten::unsqueeze_copy", "out_resize": "first"},
    ),
    "view_copy(Tensor self, SymInt[] size)": (
        "reshape",
        {"out_dtype": "structured", "out_error_name": "aten::view_copy", "out_resize": "first"},
    ),
    "view_copy.dtype(Tensor self, ScalarType dtype)": (
        "view",
        {"out_dtype": "structured", "out_error_name": "aten::view_copy", "out_resize": "first"},
    ),
    "view_as_real_copy(Tensor self)": ("view_as_real", {}),
    "view_as_complex_copy(Tensor self)": ("view_as_complex", {}),
}
_LIST_COPIES: dict[str, tuple[str, dict[str, Any]]] = {
    "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0)": ("split", {}),
    "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0)": (
        "split_with_sizes",
        {"batching": "along_dim", "never_differentiable": True, "out_dtype": "structured"},
    ),
    "unbind_copy.int(Tensor self, int dim=0)": ("unbind", {"out_dtype": "structured"}),
}


def _aten(name: str) -> Any:
    return getattr(aten, name)


def _replaced(name: str) -> Any:
    def body(self: Any, *arguments: Any) -> Any:
        view = _aten(name)(self, *arguments)
        if hasattr(type(self), "_take_view"):  # a tensor within vmap, which holds another one
            self._take_view(view)
        return _core.take_view(self, view)

    return body


def _copied(name: str, positional: int) -> Any:
    def body(self: Any, *arguments: Any) -> Any:
        return _aten(name)(self, *arguments[:positional]).clone(memory_format=_core.contiguous_format)

    return body


def _copied_list(name: str) -> Any:
    def body(self: Any, *arguments: Any) -> Any:
        return tuple(t.clone(memory_format=_core.contiguous_format) for t in _aten(name)(self, *arguments))

    return body


for _schema, (_name, _node) in _INPLACE.items():
    composite(f"{_schema} -> Tensor(a!)", function=_name == "as_strided", gradient_name=_node)(_replaced(_name))


def _node_of_copy(schema: str) -> str:
    """PyTorch's name of the node of a view's copy: squeeze_copy.dim(…) -> SqueezeBackward1_copy."""
    name, _, overload = schema.partition("(")[0].partition(".")
    number = {"dim": 1, "dims": 2, "dtype": 1}.get(overload, 0)
    return f"{node_name(name.removesuffix('_copy')).removesuffix('0')}{number}_copy"


for _schema, (_name, _traits) in _COPIES.items():
    _count = _schema.split("*,")[0].rstrip(", )").count(",")
    composite(f"{_schema} -> Tensor", out=True, method=False, gradient_name=_node_of_copy(_schema), **_traits)(
        _copied(_name, _count)
    )
for _schema, (_name, _traits) in _LIST_COPIES.items():
    composite(f"{_schema} -> Tensor[]", out=True, method=False, gradient_name=_node_of_copy(_schema), **_traits)(
        _copied_list(_name)
    )


@composite("t_(Tensor(a!) self) -> Tensor(a!)", function=False, gradient_name="TBackward1")
def t_(self):
    """In place: the tensor becomes its transpose; RuntimeError above two dims."""
    if self.dim() > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    return _core.take_view(self, self.t())


@composite(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)", function=True
)
def resize_as_(self, the_template, memory_format):
    """``self`` with the sizes of the template, and the strides of ``memory_format`` if one is given."""
    if memory_format == _core.preserve_format:
        memory_format = _core.suggest_memory_format(the_template)
    return self.resize_(the_template.shape, memory_format=memory_format)
