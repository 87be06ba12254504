"""Programs without writes: tensors whose in-place operators are run as the operators that give new values.

A :class:`FunctionalTensor` has a memory, which it may share with others, and the views that lead from the memory's value to its
own. A write is noted with the memory; whoever is read next takes the writes in: the base by the inverses of the views, the
others by their views again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table import aten_tags
from shim_torch._impl.table.tags import Tag
from shim_torch._impl.transforms.functional_storage import Storage, View
from shim_torch._impl.transforms.functional_variants import aten, copying, functional_of
from shim_torch.utils._python_dispatch import TorchDispatchMode, _any_batched, _no_dispatch
from shim_torch.utils._pytree import tree_leaves, tree_map


class FunctionalTensor(_core.Tensor):  # type: ignore[misc]
    """A tensor whose in-place writes give new values. ``elem``: the value that it has now."""

    _value: Any
    _version_seen: int

    @staticmethod
    def __new__(cls: Any, elem: Any, mode: Any, memory: Any = None, views: Any = ()) -> Any:
        make: Any = _core.Tensor
        with _no_dispatch():
            made = make._make_wrapper_subclass(
                cls, tuple(elem.shape), strides=tuple(elem.stride()), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=elem.requires_grad,
            )  # fmt: skip
        made._value, made._mode, made._views = elem, mode, list(views)
        made._memory = Storage(elem) if memory is None else memory
        made._version_seen = made._memory.version
        return made

    @property
    def elem(self) -> Any:
        """The value, all writes taken in."""
        self._sync()
        return self._value

    def _sync(self) -> None:
        if self._version_seen == self._memory.version:
            return
        self._memory.settle()
        value = self._memory.value
        for view in self._views:
            value = view(value)
        self._value, self._version_seen = value, self._memory.version

    def _become(self, other: Any) -> Any:
        """Stands for what ``other`` stands for, from now on; itself."""
        self._value, self._memory, self._views = other._value, other._memory, list(other._views)
        self._version_seen = other._version_seen
        with _no_dispatch():
            self.data = other
        return self

    # Methods that no handler of operators sees.
    def resize_(self, *size: Any, memory_format: Any = None) -> Any:
        """Its memory's first elements in another size; of what has no views, more than there were."""
        if memory_format not in (None, _core.contiguous_format):
            raise NotImplementedError("torch.func.functionalize: resize_(memory_format=...) is not supported")
        if self.requires_grad:
            raise RuntimeError("cannot resize variables that require grad")
        with _below_mode():
            return self._mode._resized(
                self, tuple(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
            )

    def set_(self, source: Any = None, *args: Any, **kwargs: Any) -> Any:
        """What another functional tensor is, from now on."""
        if not isinstance(source, FunctionalTensor) or args or kwargs:
            raise NotImplementedError("torch.func.functionalize: set_ of what is no tensor within it is not supported")
        return self._become(source)

    def swapdims_(self, dim0: int, dim1: int) -> Any:
        """``transpose_``."""
        return self.transpose_(dim0, dim1)

    def swapaxes_(self, axis0: int, axis1: int) -> Any:
        """``transpose_``."""
        return self.transpose_(axis0, axis1)

    @staticmethod
    def to_functional(x: Any) -> Any:
        """A functional tensor of the value ``x``, of the mode that is on."""
        from shim_torch.utils._python_dispatch import _get_current_dispatch_mode_stack

        modes = [m for m in _get_current_dispatch_mode_stack() if isinstance(m, FunctionalTensorMode)]
        return FunctionalTensor(x, modes[-1] if modes else FunctionalTensorMode())

    def from_functional(self) -> Any:
        """The value."""
        return self.elem

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        modes = [x._mode for x in tree_leaves((args, kwargs or {})) if isinstance(x, FunctionalTensor)]
        if any(not issubclass(t, FunctionalTensor) and t is not _core.Tensor and not _is_parameter(t) for t in types):
            return NotImplemented
        with modes[0]:
            return func(*args, **(kwargs or {}))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"FunctionalTensor({self._value!r})"


@contextmanager
def _below_mode() -> Iterator[None]:
    """Without the functional mode, where it is the one that is asked first."""
    count = _core._len_torch_dispatch_stack()
    top = _core._get_dispatch_stack_at(count - 1) if count else None
    if not isinstance(top, FunctionalTensorMode):
        yield
        return
    _core._pop_torch_dispatch_stack()
    try:
        yield
    finally:
        _core._push_on_torch_dispatch_stack(top)


def _is_parameter(kind: type) -> bool:
    from shim_torch.nn.parameter import Buffer, Parameter

    return kind in (Parameter, Buffer)


class FunctionalTensorMode(TorchDispatchMode):
    """Within it, operators on functional tensors run without writes, and what they make is functional.

    copies: views are run as the operators that copy (``aten.view_copy``), too.
    """

    _cuts_history = True  # what it gives for functional tensors has none of theirs: that of a composite is its parts'

    def __init__(
        self,
        pre_dispatch: bool = False,
        export: bool = False,
        _allow_token_discovery: bool = False,
        *,
        copies: bool = False,
    ) -> None:
        super().__init__()
        self.pre_dispatch, self.export, self._allow_token_discovery, self._copies = (
            pre_dispatch,
            export,
            _allow_token_discovery,
            copies,
        )

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _any_batched(args, kwargs):
            return NotImplemented
        written = [a for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if func.namespace != "aten" and any(a.alias_info is not None for a in func._schema.arguments):
            functional_of(func)  # its error
        if written:
            name = func._schema.name.removeprefix("aten::")
            target = args[0] if args else kwargs["self"]
            if (name == "rename_" or aten_tags.has(name, Tag.inplace_view)) and isinstance(target, FunctionalTensor):
                return self._reshaped(func, name, target, args[1:], kwargs)
            return self._without_write(func, written, args, kwargs)
        if func.is_view or func._schema.name in ("aten::lift_fresh", "aten::lift"):
            return self._viewed(func, args, kwargs)
        values = tree_map(value_of, args), tree_map(value_of, kwargs)
        return self._wrapped(func(*values[0], **values[1]), args)

    def _wrapped(self, found: Any, args: Any) -> Any:
        same = {id(x._value): x for x in tree_leaves(args) if isinstance(x, FunctionalTensor)}

        def wrap(x: Any) -> Any:
            return same.get(id(x)) or FunctionalTensor(x, self) if isinstance(x, _core.TensorBase) else x

        return tree_map(wrap, found)

    def _viewed(self, func: Any, args: Any, kwargs: Any) -> Any:
        base = args[0]
        if not isinstance(base, FunctionalTensor):
            return self._wrapped(func(*args, **kwargs), ())
        step = copying(func) if self._copies else func
        found = step(base.elem, *args[1:], **kwargs)

        def wrap(x: Any, index: int | None) -> Any:
            return FunctionalTensor(x, self, base._memory, [*base._views, View(step, args[1:], kwargs, index)])

        if isinstance(found, (list, tuple)):
            return type(found)(wrap(x, i) for i, x in enumerate(found))
        return wrap(found, None)

    def _reshaped(self, func: Any, name: str, target: Any, args: Any, kwargs: Any) -> Any:
        """The tensor itself, now of the sizes, the views and maybe the memory that an operator gives it."""
        if name == "resize_":
            return self._resized(target, tuple(args[0]))
        if func._overloadname == "source_Tensor" and isinstance(args[0], FunctionalTensor):
            return target._become(args[0])
        if name in ("set_", "resize_as_", "rename_"):
            raise NotImplementedError(f"torch.func.functionalize: {func} is not supported")
        stem, overload = _SHAPED.get(name, (name.removesuffix("_"), func._overloadname))
        kwargs = {k: v for k, v in kwargs.items() if k != "self"}
        if name == "as_strided_" and (args[2] if len(args) > 2 else kwargs.get("storage_offset")) is None:
            args, kwargs = args[:2], {**kwargs, "storage_offset": target.storage_offset()}
        return target._become(self._viewed(getattr(getattr(aten(), stem), overload), (target, *args), kwargs))

    def _resized(self, target: Any, sizes: tuple[int, ...]) -> Any:
        count = 1
        for size in sizes:
            count *= size
        if sizes == tuple(target.shape):
            return target
        if count > target.numel():
            if target._views:
                raise RuntimeError(
                    "Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization pass"
                )
            made = FunctionalTensor(aten().resize.default(target.elem, sizes), self)
            made._memory.changed = True
            return target._become(made)
        strides, step = [1] * len(sizes), 1
        for i in reversed(range(len(sizes))):
            strides[i], step = step, step * max(sizes[i], 1)
        return target._become(self._viewed(aten().as_strided.default, (target, sizes, tuple(strides)), {}))

    def _without_write(self, func: Any, written: list[Any], args: Any, kwargs: Any) -> Any:
        """The operator without the write, whose results the written tensors then have."""
        names = [a.name for a in func._schema.arguments]
        targets = [kwargs[a.name] if a.name in kwargs else args[names.index(a.name)] for a in written]
        if not all(isinstance(t, FunctionalTensor) for t in targets):
            if any(isinstance(t, FunctionalTensor) for t in tree_leaves((args, kwargs))):
                raise RuntimeError(
                    "mutating a non-functional tensor with a functional tensor is not allowed. Please ensure that all of your inputs are "
                    "wrapped inside of a functionalize() call."
                )
            return func(*args, **kwargs)
        pure = functional_of(func)
        given = {k: value_of(v) if isinstance(v, _core.TensorBase) else tree_map(value_of, v) for k, v in kwargs.items()
                 if k not in {a.name for a in written if a.is_out}}  # fmt: skip
        found = pure(*tree_map(value_of, args), **given)
        results = found if isinstance(found, (tuple, list)) else (found,)
        for target, value in zip(targets, results[-len(targets):], strict=True):  # fmt: skip
            if value.dtype != target.dtype:
                value = value.to(target.dtype)
            if tuple(value.shape) != tuple(target.shape):
                value = value.expand(target.shape)
            target._memory.write(target._views, value)
            target._value = value  # read without synchronization, it has this; others of its memory do not
        if len(func._schema.returns) == 0:
            return None
        return targets[0] if len(func._schema.returns) == 1 else tuple(targets)


_SHAPED = {"detach_": ("alias", "default")} | dict.fromkeys(
    ("transpose_", "swapaxes_", "swapdims_"), ("transpose", "int")
)


def value_of(x: Any) -> Any:
    """The value of a functional tensor; anything else as it is."""
    return x.elem if isinstance(x, FunctionalTensor) else x
