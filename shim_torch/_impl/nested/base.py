"""What the two kinds of nested tensors share: functions reach them by ``__torch_function__`` and are looked up by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.torch_function import DisableTorchFunctionSubclass

__all__ = ["HANDLERS", "RULES", "Nested", "handles", "is_nested", "plain_call", "seen", "wrapper"]

Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
HANDLERS: dict[str, Handler] = {}
RULES: list[
    tuple[Callable[[str], bool], Handler]
] = []  # handlers of the functions that have none by name, by their records
# Facts about the tensor as a whole, which the wrapper itself answers.
_OF_THE_WRAPPER = frozenset(
    "device.get dtype.get is_cuda.get is_cpu.get is_sparse.get is_quantized.get is_meta.get is_mkldnn.get is_xpu.get "
    "is_mps.get is_sparse_csr.get names.get is_floating_point is_complex is_signed get_device is_inference is_conj is_neg __hash__ "
    "ndim.get dim ndimension __dict__.get element_size itemsize.get has_names _has_symbolic_sizes_strides is_distributed "
    "_is_zerotensor result_type is_hpu.get is_ipu.get is_maia.get is_mtia.get is_xla.get is_vulkan.get is_ort.get "
    "is_same_size.layout can_cast _cdata.get __format__ __dir__ __dlpack_device__ _dimI _dimV".split()
)


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function of (func, args, kwargs) for functions of these names; ``x.get`` and ``x.set`` are of the property x."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
        return handler

    return register


@cache
def _by_rule(name: str) -> Handler | None:
    return next((handler for fits, handler in RULES if fits(name)), None)


def is_nested(x: object) -> bool:
    """Whether something is a nested tensor, of either layout."""
    return isinstance(x, Nested)


def plain_call(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The function of the wrapper, as it is."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def key_of(func: Any) -> str:
    """The name that a function is registered by."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__", "__delete__"):
        owner = getattr(func, "__self__", None)
        return f"{getattr(owner, '__name__', '')}.{name.strip('_')[:3]}"
    return name.partition(".")[0] if not name.startswith("__") else name


def wrapper(of: Any) -> Any:
    """What makes a tensor without storage."""
    return of._make_wrapper_subclass


def seen(t: Any) -> Any:
    """A holder as a view, so that what is done to the part has a history of its own."""
    return t.view_as(t) if t.requires_grad and t.is_leaf and _core.is_grad_enabled() else t


class Nested(_core.Tensor):
    """A tensor of tensors whose sizes may vary from one to the next; ``parts()`` are they, and autograd works on them."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        from shim_torch.nested._internal import _load

        _load()
        key = key_of(func)
        handler = HANDLERS.get(key) or _by_rule(key)
        if handler is not None:
            return handler(func, args, kwargs or {})
        if key.startswith("_foreach_"):
            return _for_each(func, args, kwargs or {})
        if key in _OF_THE_WRAPPER:
            return plain_call(func, args, kwargs or {})
        raise NotImplementedError(
            f"torch.{key} of a nested tensor is not supported by shim-torch: use its parts (unbind)"
        )

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func.__name__.startswith(("detach.", "alias.")):
            with DisableTorchFunctionSubclass():
                return args[0]
        raise NotImplementedError(f"{func} of a nested tensor is not supported by shim-torch: use its parts (unbind)")

    # What each kind answers.
    def parts(self) -> list[Any]:
        """The tensors that it is made of, views of it, with their history."""
        raise NotImplementedError

    def held(self) -> list[Any]:
        """The plain tensors that hold its elements: what autograd sees."""
        raise NotImplementedError

    def like(self, held: list[Any]) -> Any:
        """A nested tensor of the same structure over other holders."""
        raise NotImplementedError

    def of_parts(self, parts: Sequence[Any]) -> Any:
        """A nested tensor of this kind from its parts."""
        raise NotImplementedError

    def __reduce_ex__(self, proto: Any) -> Any:
        return (_rebuild, self._state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            held = [h.detach().clone().requires_grad_(h.requires_grad) for h in self.held()]
            memo[id(self)] = self.like(held)
        return memo[id(self)]

    def _state(self) -> tuple[Any, ...]:
        raise NotImplementedError


def _for_each(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of lists, of the tensors that hold the nested ones' elements."""
    tensors = list(args[0])
    counts = [len(t.held()) if is_nested(t) else 1 for t in tensors]

    def spread(given: Any) -> Any:
        if not isinstance(given, (list, tuple)) or len(given) != len(tensors):
            return given
        return [h for g, n in zip(given, counts, strict=True) for h in (g.held() if is_nested(g) else [g] * n)]

    found = func(*(spread(a) for a in args), **{k: spread(v) for k, v in kwargs.items()})
    if not isinstance(found, (list, tuple)):
        return found
    rest = iter(found)
    held = [[next(rest) for _ in range(n)] for n in counts]
    return tuple(t.like(h) if is_nested(t) else h[0] for t, h in zip(tensors, held, strict=True))


def _rebuild(kind: str, *state: Any) -> Any:
    from shim_torch._impl.nested import strided
    from shim_torch.nested._internal import nested_tensor

    return strided.StridedNestedTensor(*state) if kind == "strided" else nested_tensor.rebuilt(*state)


_rebuild.__module__ = "shim_torch.nested._internal.nested_tensor"  # the name in files
