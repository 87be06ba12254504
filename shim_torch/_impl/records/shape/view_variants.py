"""What follows from the views: their in-place forms, which change the tensor's own geometry, and their copies."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite

# (schema of the arguments, view method): the tensor takes the place of its view.
_INPLACE = {
    "squeeze_(Tensor(a!) self)": "squeeze",
    "squeeze_.dim(Tensor(a!) self, int dim)": "squeeze",
    "squeeze_.dims(Tensor(a!) self, int[] dim)": "squeeze",
    "unsqueeze_(Tensor(a!) self, int dim)": "unsqueeze",
    "transpose_(Tensor(a!) self, int dim0, int dim1)": "transpose",
    "swapdims_(Tensor(a!) self, int dim0, int dim1)": "transpose",
    "swapaxes_(Tensor(a!) self, int axis0, int axis1)": "transpose",
    "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)": "as_strided",
}
_COPIES = {
    "alias_copy(Tensor self)": "alias",
    "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)": "as_strided",
    "detach_copy(Tensor self)": "detach",
    "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)": "diagonal",
    "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False)": "expand",
    "permute_copy(Tensor self, int[] dims)": "permute",
    "select_copy.int(Tensor self, int dim, SymInt index)": "select",
    "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)": "slice",
    "squeeze_copy(Tensor self)": "squeeze",
    "squeeze_copy.dim(Tensor self, int dim)": "squeeze",
    "squeeze_copy.dims(Tensor self, int[] dim)": "squeeze",
    "t_copy(Tensor self)": "t",
    "transpose_copy.int(Tensor self, int dim0, int dim1)": "transpose",
    "unfold_copy(Tensor self, int dimension, int size, int step)": "unfold",
    "unsqueeze_copy(Tensor self, int dim)": "unsqueeze",
    "view_copy(Tensor self, SymInt[] size)": "reshape",
    "view_copy.dtype(Tensor self, ScalarType dtype)": "view",
    "view_as_real_copy(Tensor self)": "view_as_real",
    "view_as_complex_copy(Tensor self)": "view_as_complex",
}
_LIST_COPIES = {
    "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0)": "split",
    "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0)": "split_with_sizes",
    "unbind_copy.int(Tensor self, int dim=0)": "unbind",
}


def _aten(name: str) -> Any:
    import shim_torch

    return getattr(shim_torch.ops.aten, name)


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


for _schema, _name in _INPLACE.items():
    composite(f"{_schema} -> Tensor(a!)", function=_name == "as_strided")(_replaced(_name))
for _schema, _name in _COPIES.items():
    _count = _schema.split("*,")[0].rstrip(", )").count(",")
    composite(f"{_schema} -> Tensor", out=True, method=False)(_copied(_name, _count))
for _schema, _name in _LIST_COPIES.items():
    composite(f"{_schema} -> Tensor[]", out=True, method=False)(_copied_list(_name))


@composite("t_(Tensor(a!) self) -> Tensor(a!)", function=False)
def t_(self):
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
