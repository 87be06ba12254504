"""One operator on fake tensors: on which device its result is, and what it cannot answer without data."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import gives_nothing
from shim_torch._subclasses import fake_tensor as _fake
from shim_torch.utils._python_dispatch import _no_dispatch
from shim_torch.utils._pytree import tree_leaves, tree_map

_META = _core.device("meta")
_DATA = frozenset(
    "aten::" + n
    for n in "_local_scalar_dense item equal is_nonzero allclose _is_any_true _is_all_true is_nonzero".split()
)
_SHAPED_BY_DATA = frozenset(
    "aten::" + n
    for n in """nonzero _unique2 unique_dim unique_consecutive unique_dim_consecutive _unique masked_select bincount
    nonzero_numpy argwhere""".split()
)
_LIFTS = frozenset(("aten::lift_fresh", "aten::lift_fresh_copy"))
_DEVICES_MAY_DIFFER = frozenset(
    "aten::" + n
    for n in """copy_ index index_put index_put_ _index_put_impl_ _unsafe_index set_ embedding_bag _embedding_bag nextafter
    copysign where is_pinned""".split()
)


def _say(func: Any, args: Any, kwargs: Any) -> str:
    """The call, tensors by their sizes."""

    def one(x: Any) -> str:
        if isinstance(x, _core.TensorBase):
            kind = "FakeTensor(..., " if isinstance(x, _fake.FakeTensor) else "tensor([...], "
            dtype = "" if x.dtype == _core.get_default_dtype() else f", dtype={x.dtype}"
            return f"{kind}size={tuple(x.shape)}{dtype})"
        if isinstance(x, (list, tuple)):
            inner = ", ".join(map(one, x))
            return f"[{inner}]" if isinstance(x, list) else f"({inner})"
        return repr(x)

    return f"{func}({', '.join([*map(one, args), *(f'{k}={one(v)}' for k, v in kwargs.items())])})"


def run(mode: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The operator's result, its tensors fake. Errors: what depends on data, real tensors, devices that differ."""
    name = func._qualified_op_name
    tensors: list[Any] = [x for x in tree_leaves((args, kwargs)) if isinstance(x, _core.TensorBase)]
    if name in _LIFTS and not any(isinstance(t, _fake.FakeTensor) for t in tensors):
        return _lifted(mode, args[0])
    if any(not isinstance(t, _fake.FakeTensor) for t in tensors):
        args, kwargs = _all_fake(mode, func, args, kwargs)
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, _core.TensorBase)]
    if any(t.fake_mode is not mode for t in tensors):
        raise AssertionError("Mixing fake modes NYI")
    constant = _of_constants(mode, func, name, args, kwargs, tensors)
    if constant is not None:
        return constant[0]
    _refuse_data(func, name, args)
    device = _device(func, name, args, kwargs, tensors)
    if func._schema.is_mutable:
        _forget_constants(mode, func, args, kwargs)
    return _wrapped(mode, _kernel(func, args, kwargs, device), device)


def _forget_constants(mode: Any, func: Any, args: Any, kwargs: Any) -> None:
    """What an operator writes to is not known any more, nor what shares its memory."""
    for i, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        for t in tree_leaves(args[i] if i < len(args) else kwargs.get(argument.name)):
            if isinstance(t, _fake.FakeTensor) and t.constant is not None:
                mode.fake_tensor_converter.invalidate_constant_aliases(t.constant)


def _lifted(mode: Any, t: Any) -> Any:
    """A new tensor of known data: fake, with its value where that is one number."""
    fake = mode.fake_tensor_converter.from_real_tensor(
        mode, t, make_constant=t.numel() == 1 and t.device.type != "meta"
    )
    return fake


def _all_fake(mode: Any, func: Any, args: Any, kwargs: Any) -> Any:
    def fake(x: Any) -> Any:
        if not isinstance(x, _core.TensorBase) or isinstance(x, _fake.FakeTensor):
            return x
        if not mode.allow_non_fake_inputs:
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. "
                f"Found in {_say(func, args, kwargs)}"
            )
        return mode.fake_tensor_converter.from_real_tensor(mode, x)

    return tree_map(fake, args), tree_map(fake, kwargs)


def _of_constants(mode: Any, func: Any, name: str, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
    """(the result,) of known values; None where one is not known, or the result is no single number."""
    from shim_torch._impl.transforms.batching.randomness import is_random

    if not tensors or any(t.constant is None for t in tensors):
        return None
    if name == "aten::_local_scalar_dense":
        with _no_dispatch():
            return (tensors[0].constant.item(),)
    if is_random(name) or name in _CHANGE_SHAPE or kwargs.get("device") is not None:
        return None

    def value(x: Any) -> Any:
        return x.constant if isinstance(x, _fake.FakeTensor) else x

    with _no_dispatch():
        found = func(*tree_map(value, args), **tree_map(value, kwargs))
    made = [x for x in tree_leaves(found) if isinstance(x, _core.TensorBase)]
    if all(x.numel() <= 1 for x in made):
        if func.is_view:
            return (_known_view(mode, func, args, kwargs, tensors[0].fake_device, made),)

        def fake(x: Any) -> Any:
            return (
                mode.fake_tensor_converter.from_real_tensor(mode, x, make_constant=True)
                if isinstance(x, _core.TensorBase)
                else x
            )

        return (tree_map(fake, found),)
    for x in made:  # what was written to has its value no more
        mode.fake_tensor_converter.invalidate_constant_aliases(x)
    return None


def _known_view(mode: Any, func: Any, args: Any, kwargs: Any, device: Any, values: list[Any]) -> Any:
    """The view of fakes, sharing their memory, with its known values."""
    found = _wrapped(mode, _kernel(func, args, kwargs, device), device)
    for fake, value in zip((x for x in tree_leaves(found) if isinstance(x, _fake.FakeTensor)), values, strict=True):
        fake.constant = value
        mode.fake_tensor_converter._note_constant(fake)
    return found


_CHANGE_SHAPE = frozenset(
    "aten::" + n for n in "resize_ set_ t_ transpose_ squeeze_ unsqueeze_ as_strided_ swapdims_ swapaxes_".split()
)


def _refuse_data(func: Any, name: str, args: Any) -> None:
    if name in _DATA:
        raise _fake.DataDependentOutputException(func)
    if name in _SHAPED_BY_DATA:
        raise _fake.DynamicOutputShapeException(func)
    if name in ("aten::index", "aten::_unsafe_index") and len(args) > 1:
        if any(isinstance(i, _core.TensorBase) and i.dtype in (_core.bool, _core.uint8) for i in args[1]):
            from shim_torch._ops import ops

            aten: Any = ops.aten
            raise _fake.DynamicOutputShapeException(aten.nonzero.default)
    if name == "aten::repeat_interleave" and func._overloadname == "Tensor" and len(args) < 2:
        raise _fake.DynamicOutputShapeException(func)


def _device(func: Any, name: str, args: Any, kwargs: Any, tensors: list[Any]) -> Any:
    """The device of the result: as asked for, or where the arguments are; a number on the CPU goes along."""
    asked = kwargs.get("device")
    if asked is not None:
        return asked if isinstance(asked, _core.device) else _core.device(asked)
    if not tensors:
        return _core.get_default_device() or _core.device("cpu")
    if name in _DEVICES_MAY_DIFFER or name.startswith("aten::index_put"):
        return tensors[0].fake_device
    common, is_number = tensors[0].fake_device, tensors[0].dim() == 0 and tensors[0].fake_device.type == "cpu"
    for t in tensors[1:]:
        other = t.fake_device
        if other == common:
            is_number = is_number and t.dim() == 0
        elif t.dim() == 0 and other.type == "cpu":
            continue
        elif is_number:
            common, is_number = other, False
        else:
            first, second = (other, common) if common.type == "cpu" else (common, other)
            raise _fake.FakeTensorDeviceMismatchError(
                f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"
            )
    return common


def _kernel(func: Any, args: Any, kwargs: Any, device: Any) -> Any:
    if kwargs.get("device") is not None or any(a.name == "device" for a in func._schema.arguments):
        kwargs = {**kwargs, "device": _META}
    if kwargs.get("pin_memory"):
        kwargs = {**kwargs, "pin_memory": False}
    with _no_dispatch():
        _fake._inside.depth += 1
        outer, _fake._inside.func = _fake._inside.func, func
        try:
            return func(*args, **kwargs)
        except NotImplementedError as error:
            if gives_nothing(func._schema):
                return None
            if "no fake impl" in str(error):
                raise _fake.UnsupportedOperatorException(func) from error
            raise
        finally:
            _fake._inside.depth -= 1
            _fake._inside.func = outer


def _wrapped(mode: Any, found: Any, device: Any) -> Any:
    def fake(x: Any) -> Any:
        if not isinstance(x, _core.TensorBase) or "fake_device" in x.__dict__:
            return x
        if isinstance(x, _fake.FakeTensor):  # some operators keep the class
            x.fake_mode, x.fake_device, x.constant = mode, device, None
            return x
        if not x.is_meta:  # of numbers alone: its values are known
            return mode.fake_tensor_converter.from_real_tensor(mode, x, make_constant=x.numel() == 1)
        return _fake.FakeTensor(mode, x, device)

    if isinstance(found, _core.TensorBase):
        return fake(found)
    return tree_map(fake, found) if isinstance(found, (tuple, list)) else found
