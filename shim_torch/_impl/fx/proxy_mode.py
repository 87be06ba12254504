"""The mode that writes each operator into a graph as it runs, and what it knows of tensors: the node each came from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.fx.graph import Graph
from shim_torch.fx.node import Node
from shim_torch.fx.proxy import Proxy, TracerBase, unused_name
from shim_torch.nn.modules.module import Module
from shim_torch.utils._python_dispatch import TorchDispatchMode, _any_batched, _get_current_dispatch_mode_stack
from shim_torch.utils._pytree import tree_leaves, tree_map


class PythonKeyTracer(TracerBase):
    """Creates nodes; tensors that no node made become attributes of ``root``."""

    def __init__(self) -> None:
        self.graph = Graph(tracer_cls=type(self))
        self.root: Any = Module()
        self.tensor_tracker: dict[int, tuple[Any, Any]] = {}  # id of a tensor -> (it, its proxy)
        self._names: dict[int, str] = {}

    def track(self, tensor: Any, proxy: Any) -> None:
        """Records the proxy of a tensor."""
        self.tensor_tracker[id(tensor)] = tensor, proxy
        proxy.node.meta["val"] = _snapshot(tensor)
        proxy.node.meta["tensor_meta"] = _described(tensor)

    def tracked(self, tensor: Any) -> Any:
        """The proxy of a tensor, or None."""
        found = self.tensor_tracker.get(id(tensor))
        return None if found is None else found[1]

    def proxy_of(self, x: Any) -> Any:
        """A tensor's proxy; anything else as it is."""
        proxy = self.tracked(x) if isinstance(x, _core.TensorBase) else None
        return x if proxy is None else proxy

    def create_arg(self, a: Any) -> Any:
        """The node or constant that stands for ``a``; tensors become attributes of the root."""
        if isinstance(a, _parameter()):
            return self._attribute(a, self._known(a) or unused_name(self.root, "_param_constant"))
        if isinstance(a, _core.TensorBase):
            return self._attribute(a, self._known(a) or unused_name(self.root, "_tensor_constant"))
        return super().create_arg(a)

    def _known(self, a: Any) -> str | None:
        return self._names.get(id(a)) or next((n for n, p in self.root.named_parameters() if p is a), None)

    def _attribute(self, a: Any, name: str) -> Node:
        if id(a) not in self._names:
            self._names[id(a)] = name
            setattr(self.root, name, a)
        node = self.create_node("get_attr", name, (), {})
        node.meta["val"] = a
        return node


def _parameter() -> Any:
    from shim_torch.nn.parameter import Parameter

    return Parameter


_described_by: list[Any] = []  # the fake mode of what graphs keep of real tensors


def _snapshot(tensor: Any) -> Any:
    """A fake tensor for ``meta["val"]`` of a node, unaffected by later changes of the tensor."""
    from shim_torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from shim_torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        if isinstance(tensor, FakeTensor):
            return tensor.detach()
        if tensor.layout != _core.strided or type(tensor) not in (_core.Tensor, _parameter()):
            return tensor
        if not _described_by:
            _described_by.append(FakeTensorMode())
        meta = _core.empty_strided(tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, _core.device("meta"))
        return FakeTensor(_described_by[0], meta, tensor.device)


def _described(tensor: Any) -> Any:
    from shim_torch.fx.passes.shape_prop import _extract_tensor_metadata

    try:
        return _extract_tensor_metadata(tensor)
    except (RuntimeError, NotImplementedError):  # a layout without strides
        return None


def get_innermost_proxy_mode() -> Any:
    """The tracing mode that is on, or None."""
    modes = [m for m in _get_current_dispatch_mode_stack() if isinstance(m, ProxyTorchDispatchMode)]
    return modes[-1] if modes else None


@contextlib.contextmanager
def disable_proxy_modes_tracing() -> Iterator[Any]:
    """Context in which nothing is traced."""
    stack = _get_current_dispatch_mode_stack()
    mode = get_innermost_proxy_mode()
    kept = [m for m in stack if not isinstance(m, ProxyTorchDispatchMode)]

    def replace(old: list[Any], new: list[Any]) -> None:
        for _ in old:
            _core._pop_torch_dispatch_stack()
        for m in new:
            _core._push_on_torch_dispatch_stack(m)

    if mode is not None:
        replace(stack, kept)
    try:
        yield mode
    finally:
        if mode is not None:
            replace(_get_current_dispatch_mode_stack(), stack)


def has_proxy_slot(obj: Any, tracer: Any) -> bool:
    """Whether a tensor has a proxy in the trace."""
    return tracer.tracked(obj) is not None


def get_proxy_slot(obj: Any, tracer: Any, default: Any = ..., transform: Any = lambda x: x) -> Any:
    """The proxy of a tensor; ``default`` where it has none."""
    found = tracer.tracked(obj)
    if found is None:
        if default is ...:
            raise RuntimeError(f"{obj} ({type(obj)}, {id(obj)})is not tracked with proxy for {tracer}")
        return default
    return transform(found)


def set_proxy_slot(obj: Any, tracer: Any, proxy: Any) -> None:
    """Records the proxy of a tensor."""
    tracer.track(obj, proxy)


def track_tensor_tree(result: Any, proxy_out: Any, *, constant: Any = None, tracer: Any) -> Any:
    """Records proxies for the tensors in a result (``proxy[0]`` ...); returns the result."""
    if isinstance(result, _core.TensorBase):
        tracer.track(result, proxy_out)
        return result
    if isinstance(result, (tuple, list)):
        proxy_out.node.meta["val"] = result if isinstance(result, tuple) else result.copy()
    parts = dict(enumerate(result)) if isinstance(result, (tuple, list)) else result if isinstance(result, dict) else {}
    for key, part in parts.items():
        if isinstance(part, (_core.TensorBase, tuple, list, dict)):  # a number has no parts
            track_tensor_tree(part, proxy_out[key], tracer=tracer)
    return result


_DATA = ("aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal", "aten::allclose")


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records the operators that run in the tracer's graph."""

    def __init__(
        self, tracer: PythonKeyTracer, tracing_mode: str = "real", table: Any = None, error_on_data: bool = True
    ) -> None:
        super().__init__()
        self.tracer, self.tracing_mode, self.table = tracer, tracing_mode, dict(table or {})
        self.error_on_data, self.enable_tracing = error_on_data, True
        self._constants: dict[int, tuple[Any, Any]] = {}  # id of a result -> (it, its constant value)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: the mode belongs to the machinery, not to a user."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _any_batched(args, kwargs):
            return NotImplemented
        rule = self.table.get(func) or self.table.get(getattr(func, "_overloadpacket", None))
        if rule is not None:
            with self:
                found = rule(*args, **kwargs)
            if found is not NotImplemented:
                return found
        return self._write(func, args, kwargs)

    def _write(self, func: Any, args: Any, kwargs: Any) -> Any:
        tracer, name = self.tracer, func._qualified_op_name
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, _core.TensorBase)]
        if name in _DATA and self.error_on_data and any(tracer.tracked(t) is not None for t in tensors):
            if all(id(t) in self._constants for t in tensors):
                return self._on_constants(func, args, kwargs)
            if self.tracing_mode != "real":
                return func(*args, **kwargs)  # refused with the fake tensors' error
            raise RuntimeError(
                f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely "
                "that this is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic "
                "shapes; try setting tracing_mode='symbolic' in your make_fx call."
            )
        written = func
        if name == "aten::lift_fresh" and tracer.tracked(args[0]) is None:
            from shim_torch._ops import ops

            aten: Any = ops.aten
            written = aten.lift_fresh_copy.default
        proxy_args, proxy_kwargs = tree_map(tracer.proxy_of, args), tree_map(tracer.proxy_of, kwargs)
        packet = written._overloadpacket.__name__.rpartition(".")[2]
        proxy: Proxy = tracer.create_proxy(
            "call_function", written, proxy_args, proxy_kwargs, name=tracer.graph._target_to_str(packet)
        )
        in_place = packet.endswith("_") and not packet.endswith("__")
        if in_place and args and isinstance(args[0], _core.TensorBase) and tracer.tracked(args[0]) is not None:
            tracer.tensor_tracker[id(args[0])] = args[0], proxy
        constant = self._constant(written, name, args, kwargs, tensors)
        result = written(*args, **kwargs) if written is not func else func(*args, **kwargs)
        if (
            isinstance(result, _core.TensorBase)
            and any(result is t for t in tensors)
            and not in_place
            and not written.is_view
        ):
            tracer.track(result, proxy)
        else:
            track_tensor_tree(result, proxy, tracer=tracer)
        self._note(result, constant)
        return result

    def _constant(self, func: Any, name: str, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
        """Constant propagation: the result of an operator on lifted small tensors, or what is computed of them."""
        from shim_torch._impl.transforms.batching.randomness import is_random

        if name == "aten::lift_fresh" and tensors and tensors[0].numel() <= 1:
            return self._on_constants(func, args, kwargs)
        if not tensors or is_random(name) or not all(id(t) in self._constants for t in tensors):
            if func._schema.is_mutable:
                for t in tensors:
                    self._constants.pop(id(t), None)
            return None
        found = self._on_constants(func, args, kwargs)
        small = all(x.numel() <= 1 for x in tree_leaves(found) if isinstance(x, _core.TensorBase))
        return found if small else None

    def _on_constants(self, func: Any, args: Any, kwargs: Any) -> Any:
        from shim_torch.utils._python_dispatch import _disable_current_modes

        def value(x: Any) -> Any:
            return self._constants[id(x)][1] if id(x) in self._constants else x

        with _disable_current_modes():
            return func(*tree_map(value, args), **tree_map(value, kwargs))

    def _note(self, result: Any, constant: Any) -> None:
        if isinstance(result, _core.TensorBase) and isinstance(constant, _core.TensorBase):
            self._constants[id(result)] = result, constant
        elif isinstance(result, (tuple, list)) and isinstance(constant, (tuple, list)):
            for x, value in zip(result, constant, strict=True):
                self._note(x, value)
