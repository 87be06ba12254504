"""``torch._subclasses.schema_check_mode``: whether operators keep to what their schemas say of writes and shared memory."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.utils._python_dispatch import TorchDispatchMode

Mutation = namedtuple("Mutation", ["op_name", "arg_name"])
Aliasing = namedtuple("Aliasing", ["op_name", "arg_name", "output_number"])
# What the name calls unsafe: their results share memory though their schemas do not say so.
_UNSAFE = ("aten::_unsafe_view", "aten::unsafe_split", "aten::unsafe_split_with_sizes", "aten::unsafe_chunk")
_LIFTS = ("aten::lift", "aten::lift_fresh")


# Training writes to these, which the schemas do not say: the argument that says whether it is training, and what is written.
_TRAINED = {
    **dict.fromkeys(("aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm"), "training"),
    "aten::instance_norm": "use_input_stats",
}


def _flat(value: Any) -> list[Any]:
    """The tensors of a value; those that a wrapper holds as ``elem`` instead of it."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _flat(v)]
    if not isinstance(value, _core.TensorBase):
        return []
    return [value if type(value) is _core.Tensor else getattr(value, "elem", value)]


def _storage(t: Any) -> Any:
    return None if t.layout != _core.strided or t.is_meta or not t.numel() else t.untyped_storage()._cdata


def _kept(t: Any) -> tuple[Any, Any]:
    """A copy of the values, and the strides, which a copy of an overlapping or spaced view does not have."""
    return t.detach().clone(), t.stride() if t.layout == _core.strided else None


def _changed(kept: tuple[Any, Any], after: Any) -> bool:
    before, strides = kept
    if after.layout not in (_core.strided, _core.sparse_coo):  # PyTorch does not compare those either
        return False
    if before.shape != after.shape or (strides is not None and strides != after.stride()):
        return True
    return not bool(((before == after) | (before != before)).all()) if after.numel() and not after.is_meta else False


def _declared(argument: Any, result: Any) -> bool:
    one, other = argument.alias_info, result.alias_info
    if one is None or other is None:
        return False
    sets = one.before_set | one.after_set, other.before_set | other.after_set
    return bool(sets[0] & sets[1]) or any("*" in s for s in sets)


def _storages(value: Any) -> set[Any]:
    return {_storage(t) for t in _flat(value)} - {None}


class _Call:
    """What a schema says of a call: arguments that share memory are in each other's alias sets."""

    def __init__(self, func: Any, args: Any, kwargs: Any) -> None:
        schema = func._schema
        self.name, self.returns = schema.name, schema.returns
        positional = [a for a in schema.arguments if not a.kwarg_only]
        named = {a.name: a for a in schema.arguments}
        self.bound = [*zip(positional, args, strict=False), *((named[n], v) for n, v in kwargs.items() if n in named)]
        self._memory = [_storages(v) for _, v in self.bound]
        values = {a.name: v for a, v in self.bound}
        trained = self.name in _TRAINED and values.get(_TRAINED[self.name])
        self._written = {a.name for a, _ in self.bound if a.is_write} | (
            {"running_mean", "running_var"} if trained else set()
        )

    def _together(self, at: int) -> list[int]:
        return [k for k, memory in enumerate(self._memory) if k == at or memory & self._memory[at]]

    def is_mutable(self, at: int) -> bool:
        return any(self.bound[k][0].name in self._written for k in self._together(at))

    def may_share(self, at: int, result: int) -> bool:
        return any(_declared(self.bound[k][0], self.returns[result]) for k in self._together(at))

    def results_may_share(self, one: int, other: int) -> bool:
        if _declared(self.returns[one], self.returns[other]):
            return True
        return any(self.may_share(k, one) and self.may_share(k, other) for k in range(len(self.bound)))


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
        self.ops.append(func._schema.name)
        call = _Call(func, args, kwargs)
        before = [[_kept(t) for t in _flat(value)] for _, value in call.bound]
        result = func(*args, **kwargs)
        outputs = list(result) if isinstance(result, (list, tuple)) and len(call.returns) > 1 else [result]
        outputs = outputs[: len(call.returns)]
        for at, old in enumerate(before):
            if call.name not in _UNSAFE:
                self._check_shared(call, at, outputs)
            _refuse_given(call, at, outputs)
            self._check_written(call, at, old)
        if call.name not in _UNSAFE:
            _check_outputs(call, outputs)
        return result

    def _check_written(self, call: _Call, at: int, old: list[Any]) -> None:
        argument, value = call.bound[at]
        if not any(_changed(b, a.detach()) for b, a in zip(old, _flat(value), strict=True)):
            return
        if not call.is_mutable(at):
            raise RuntimeError(f"Argument {_shown(argument)} is not defined as mutable but was mutated")
        self.mutated.append(Mutation(call.name, _shown(argument)))

    def _check_shared(self, call: _Call, at: int, outputs: list[Any]) -> None:
        argument, value = call.bound[at]
        storages = _storages(value)
        for i, output in enumerate(outputs):
            if not _storages(output) & storages:
                continue
            if not call.may_share(at, i):
                raise RuntimeError(f"Argument {_shown(argument)} is not defined to alias output but was aliasing")
            self.aliasing.append(Aliasing(call.name, _shown(argument), f"output_{i}"))


def _shown(argument: Any) -> str:
    return "input" if argument.name == "self" else argument.name


def _refuse_given(call: _Call, at: int, outputs: list[Any]) -> None:
    """Only operators that write may give back an argument itself."""
    argument, value = call.bound[at]
    if not isinstance(value, _core.TensorBase) or call.is_mutable(at) or call.name in _LIFTS:
        return
    for j, output in enumerate(outputs):
        if output is value:
            raise RuntimeError(
                "Dispatcher operators below autograd are not allowed to directly return inputs.\n"
                f"However, we found that `outputs[{j}] is {_shown(argument)}"
            )


def _check_outputs(call: _Call, outputs: list[Any]) -> None:
    for i, one in enumerate(outputs):
        for j in range(i + 1, len(outputs)):
            if _storages(one) & _storages(outputs[j]) and not call.results_may_share(i, j):
                raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")
