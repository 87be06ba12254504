"""``torch.fx.node``: one step of a graph, and walks through its arguments."""

from __future__ import annotations

import builtins
import re
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from shim_torch._impl.fx.readable import typed
from shim_torch.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from shim_torch.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]
Argument: TypeAlias = Any
Target: TypeAlias = Any

_OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions: set[Any] = set()


def has_side_effect(fn: Any) -> Any:
    """Marks a function whose calls dead-code elimination keeps."""
    _side_effectful_functions.add(fn)
    return fn


def _each(values: Any, fn: Callable[[Any], Any]) -> list[Any]:
    return [map_aggregate(value, fn) for value in values]


def _map_other(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Classes derived from the containers are made again as those, named tuples as they are."""
    if hasattr(a, "_fields"):
        return type(a)(*_each(a, fn))
    return next((_WHOLES[kind](a, fn) for kind in (tuple, list, dict) if isinstance(a, kind)), None)


# What is looked into, and how it is made again of its parts
_WHOLES: dict[type, Callable[[Any, Callable[[Any], Any]], Any]] = {
    tuple: lambda a, fn: tuple(_each(a, fn)) if a else (),
    list: lambda a, fn: immutable_list(_each(a, fn)),
    dict: lambda a, fn: immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()}),
    slice: lambda a, fn: slice(*_each((a.start, a.stop, a.step), fn)),
}
_WHOLES[immutable_list], _WHOLES[immutable_dict] = _WHOLES[list], _WHOLES[dict]


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Applies ``fn`` to everything in nested tuples, lists, dicts and slices."""
    made_of = _WHOLES.get(type(a))
    if made_of is not None:
        return made_of(a, fn)
    return _map_other(a, fn) if isinstance(a, (tuple, list, dict)) else fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Applies ``fn`` to the nodes in an argument."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _get_qualified_name(func: Any) -> str:
    """``torch.relu``, ``_operator.add``, ``torch.ops.aten.relu.default``: the name that code calls a function by."""
    import shim_torch
    from shim_torch import _ops

    if isinstance(func, (_ops.OpOverload, _ops.OpOverloadPacket)):
        return f"torch.ops.{func}"
    name = getattr(func, "__name__", None) or type(func).__name__
    if getattr(builtins, name, None) is func:
        return name
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"torch.Tensor.{name}"
    module_name = re.sub(r"^shim_torch\b", "torch", str(getattr(func, "__module__", None) or ""))
    if module_name == "torch.functional":
        return f"torch.functional.{name}"
    if module_name == "torch._impl.tensor.checks":
        return f"torch.{name}"
    for module, text in ((shim_torch, "torch"), (shim_torch.nn.functional, "torch.nn.functional"),
                         (shim_torch.linalg, "torch.linalg"), (shim_torch.special, "torch.special")):  # fmt: skip
        if vars(module).get(name) is func:
            return f"{text}.{name}"
    if not module_name:
        raise RuntimeError(f"cannot find module for {func}")
    return f"{module_name}.{getattr(func, '__qualname__', name) if name != '<lambda>' else name}"


class Node:
    """One step: an input, an attribute, a call, or the output; ``users`` are the nodes that take its value."""

    def __init__(
        self, graph: Graph, name: str, op: str, target: Any, args: Any, kwargs: Any, return_type: Any = None
    ) -> None:
        if op not in _OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if not (callable(target) if op == "call_function" else isinstance(target, str)):
            from shim_torch import typename

            wanted = "Callable" if op == "call_function" else "str"
            text = f"Node [graph = {graph}, name = '{name}'] target {target} has type {typename(target)} but a {wanted} is expected"
            raise ValueError(text)
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self.meta: dict[str, Any] = {}
        self._set_arguments(args, kwargs)

    def __repr__(self) -> str:
        return self.name

    next = property(lambda self: self._next)
    prev = property(lambda self: self._prev)

    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def seen(n: Node) -> Node:
            self._input_nodes.setdefault(n)
            n.users.setdefault(self)
            return n

        self._args, self._kwargs = map_arg(tuple(args), seen), map_arg(dict(kwargs), seen)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; nodes stand for values."""
        return self._args

    @args.setter
    def args(self, args: Any) -> None:
        self._set_arguments(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments given by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Any) -> None:
        self._set_arguments(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes in the arguments, each once, in order."""
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        """Where the call stood in the source, if it was noted."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Moves ``x`` right before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Moves ``x`` right after this node."""
        self._next.prepend(x)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Changes one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Puts a positional argument before another."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Changes one argument given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """(args, kwargs) with defaults filled in, by the signature of the function or of ``root``'s module; None where none fits."""
        from shim_torch.fx import operator_schemas as schemas

        given = self.target, self.args, self.kwargs
        if self.op == "call_module":
            return schemas.normalize_module(root, *given, normalize_to_only_use_kwargs)
        if self.op == "call_function":
            return schemas.normalize_function(*given, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        return None

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Gives the users of this node ``replace_with`` in its place; the users that were changed."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with "
                                     "already has .meta keys")  # fmt: skip
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Takes ``new_input`` wherever ``old_input`` is in the arguments."""

        def swap(n: Node) -> Node:
            return new_input if n is old_input else n

        self._set_arguments(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._namespace.create_name(candidate, None)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the step must stay even if nothing takes its value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            return self.target in _side_effectful_functions or bool(getattr(schema, "is_mutable", False))
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module" and self.graph.owning_module is not None:
            return bool(getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False))
        return False

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        home = {"_operator": "operator", "builtins": "builtins"}.get(getattr(target, "__module__", ""))
        return f"{home}.{target.__name__}" if home else _get_qualified_name(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, **_: Any
    ) -> str | None:
        """The step as a line of ``print(graph)``; None for the inputs and the output where their lists are given."""
        if self.op == "output":
            return f"return {_format_arg(self.args[0]).lstrip('%') if isinstance(self.args[0], Node) else self.args[0]}"
        head = f"%{self.name} : {typed(self)}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.target)
                return None
            return head + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"


def _format_arg(arg: Any, max_list_len: float = float("inf")) -> str:
    """An argument as text: nodes by name with a percent sign, at most so many items of a sequence."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, Node):
        return f"%{arg.name}"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(item)}" for key, item in arg.items()) + "}"
    if not isinstance(arg, (list, tuple)):
        return str(arg)
    items = list(map(_format_arg, arg))
    if len(items) > max_list_len:
        items[int(max_list_len) :] = [f"...[total_len={len(arg)}]"]
    text = ", ".join(items)
    return f"[{text}]" if isinstance(arg, list) else f"({text},)" if len(arg) == 1 else f"({text})"
