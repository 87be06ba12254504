"""``torch._subclasses.schema_check_mode``: whether operators keep to what their schemas say of writes and shared memory."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from native import _core
from shim_torch._missing import asked_of as _asked_of
from shim_torch.utils._python_dispatch import TorchDispatchMode

Mutation = namedtuple("Mutation", ["op_name", "arg_name"])
Aliasing = namedtuple("Aliasing", ["op_name", "arg_name", "output_number"])
# What the name calls unsafe: their results share memory though their schemas do not say so.
_UNSAFE = ("aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_split_with_sizes")


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _flat(v)]
    return [value] if isinstance(value, _core.TensorBase) else []


def _storage(t: Any) -> Any:
    return None if t.is_sparse or t.is_meta or not t.numel() else t.untyped_storage()._cdata


def _kept(t: Any) -> tuple[Any, Any]:
    """A copy of the values, and the strides, which a copy of an overlapping or spaced view does not have."""
    return t.detach().clone(), None if t.is_sparse else t.stride()


def _changed(kept: tuple[Any, Any], after: Any) -> bool:
    before, strides = kept
    if before.shape != after.shape or (strides is not None and strides != after.stride()):
        return True
    return not bool(((before == after) | (before != before)).all()) if after.numel() and not after.is_meta else False


def _may_share(argument: Any, result: Any) -> bool:
    one, other = argument.alias_info, result.alias_info
    if one is None or other is None:
        return False
    sets = one.before_set | one.after_set, other.before_set | other.after_set
    return bool(sets[0] & sets[1]) or any("*" in s for s in sets)


class SchemaCheckMode(TorchDispatchMode):
    """Runs operators and checks each: RuntimeError where one writes to, or gives back, what its schema says it does not.

    ``ops`` lists the operators that ran; ``mutated`` and ``aliasing`` what was written and what was shared.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forgets what was seen."""
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def display_ops(self) -> None:
        """Prints the operators that ran, one name in a row after another."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema
        self.ops.append(schema.name)
        positional = [a for a in schema.arguments if not a.kwarg_only]
        named = {a.name: a for a in schema.arguments}
        bound = [*zip(positional, args, strict=False), *((named[n], v) for n, v in kwargs.items() if n in named)]
        before = [[_kept(t) for t in _flat(value)] for _, value in bound]
        result = func(*args, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) and len(schema.returns) > 1 else [result]
        for (argument, value), old in zip(bound, before, strict=True):
            self._check_written(func, argument, _flat(value), old)
            if schema.name not in _UNSAFE:
                self._check_shared(func, argument, _flat(value), outputs)
        if schema.name not in _UNSAFE:
            _check_outputs(schema, outputs)
        return result

    def _check_written(self, func: Any, argument: Any, now: list[Any], old: list[Any]) -> None:
        if not any(_changed(b, a.detach()) for b, a in zip(old, now, strict=True)):
            return
        if not argument.is_write:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        self.mutated.append(Mutation(func._schema.name, argument.name))

    def _check_shared(self, func: Any, argument: Any, given: list[Any], outputs: list[Any]) -> None:
        storages = {_storage(t) for t in given} - {None}
        for i, (output, described) in enumerate(zip(outputs, func._schema.returns, strict=False)):
            if not any(_storage(t) in storages for t in _flat(output)):
                continue
            if not _may_share(argument, described):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
            self.aliasing.append(Aliasing(func._schema.name, argument.name, f"output_{i}"))


def _check_outputs(schema: Any, outputs: list[Any]) -> None:
    for i, one in enumerate(outputs):
        for j in range(i + 1, len(outputs)):
            shared = {_storage(t) for t in _flat(one)} & {_storage(t) for t in _flat(outputs[j])} - {None}
            if shared and not _may_share(schema.returns[i], schema.returns[j]):
                raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")


__getattr__ = _asked_of(__name__)
