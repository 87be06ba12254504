"""``torch._subclasses.fake_utils``: what a fake run and a real one must share, and a mode that compares the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import shim_torch as torch
from shim_torch._impl.transforms.prims.layouts import compare_tensor_meta
from shim_torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    tree_flatten_only,
)
from shim_torch.utils import _pytree as pytree
from shim_torch.utils._python_dispatch import TorchDispatchMode


def _memories(tree: Any) -> Iterator[Any]:
    for t in tree_flatten_only(torch.Tensor, tree):
        if t.layout == torch.strided:
            yield t.untyped_storage()._cdata


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of ``outputs`` shares its memory with one of ``inputs``."""
    given = set(_memories(inputs))
    return any(memory in given for memory in _memories(outputs))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a tensor of ``outputs`` is one of ``inputs``."""
    given = {id(t) for t in tree_flatten_only(torch.Tensor, inputs)}
    return any(id(t) in given for t in tree_flatten_only(torch.Tensor, outputs))


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two tensors of ``outputs`` share memory."""
    found = list(_memories(outputs))
    return len(found) != len(set(found))


def _check_alias_info(context: str, real_out: Any, real_in: Any, fake_out: Any, fake_in: Any) -> None:
    for name, check, real, fake in (
        ("outputs_alias_inputs", outputs_alias_inputs, (real_out, real_in), (fake_out, fake_in)),
        ("outputs_are_inputs", outputs_are_inputs, (real_out, real_in), (fake_out, fake_in)),
        ("outputs_alias_each_other", output_alias_each_other, (real_out,), (fake_out,)),
    ):
        r, f = check(*real), check(*fake)
        if r != f:
            raise MetadataMismatchError(f"{context} mismatch in {name} check {f} != {r}")


def _check_fake_real_tensors(
    real_out: Any,
    fake_out: Any,
    context: str = "",
    sizes: bool = True,
    strides: bool = False,
    storage_offset: bool = True,
    requires_grad: bool = True,
) -> None:
    if requires_grad and real_out.requires_grad != fake_out.requires_grad:
        raise MetadataMismatchError(
            f"{context} mismatched requires_grad-ness of outputs. This usually means that you have added autograd "
            "support for your operator at a dispatch key other than Autograd, which will lead to problems"
        )
    if storage_offset and real_out.layout == torch.strided and real_out.storage_offset() != fake_out.storage_offset():
        raise MetadataMismatchError(f"{context} mismatched storage offset")
    compare_tensor_meta(real_out, fake_out, check_sizes=sizes, check_strides=strides, allow_rhs_unbacked=True)


def _compares(func: Any) -> bool:
    if str(func).split(".")[1] in ("lift_fresh", "lift_fresh_copy", "set_"):
        return False
    tags = (torch.Tag.dynamic_output_shape, torch.Tag.inplace_view, torch.Tag.data_dependent_output)
    return not any(tag in func.tags for tag in tags)


def _simulated(func: Any, call: Any) -> tuple[Any, Any] | None:
    """(result, inputs) of a call on fakes of its tensors; None where it gives None or no fake can stand for a tensor."""
    mode = FakeTensorMode()
    try:
        with mode:
            args, kwargs = fakes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, call)
            result = func(*args, **kwargs)
    except UnsupportedFakeTensorException:
        return None
    return None if result is None else (result, fakes)


def try_convert_fake_to_real(ten_list: list[Any]) -> list[Any]:
    """The list with the fakes of tensors that are still there as tensors over their memory; other entries as they are."""
    return [_over_real_memory(t) if isinstance(t, FakeTensor) and t.layout == torch.strided else t for t in ten_list]


def _over_real_memory(fake: Any) -> Any:
    """The tensor that a fake stands for; the fake itself where that tensor's memory is gone."""
    memory = fake.fake_mode.fake_tensor_converter.meta_converter.real_storage(fake)
    if memory is None:
        return fake
    return torch.empty(0, dtype=fake.dtype, device=fake.device).set_(
        memory, fake.storage_offset(), fake.shape, fake.stride()
    )


class CrossRefFakeMode(TorchDispatchMode):
    """Runs each operator on fake tensors too; MetadataMismatchError where the results' metadata differ."""

    def __init__(
        self,
        ignore_op_fn: Callable[[Any], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn if ignore_op_fn is not None else lambda fn: False
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = (args, kwargs or {})
        wanted = _compares(func) and not self.ignore_op_fn(func)
        simulated = _simulated(func, call) if wanted else None  # first: the real run may write to its inputs
        real = func(*call[0], **call[1])
        if simulated is not None:
            self._compare(func, real, call, *simulated)
        return real

    def _compare(self, func: Any, real: Any, real_in: Any, fake: Any, fake_in: Any) -> None:
        context = f"When comparing the output of {func} on FakeTensor and concrete Tensors, found"
        reals, fakes = pytree.tree_leaves(real), pytree.tree_leaves(fake)
        if len(reals) != len(fakes):
            raise AssertionError(f"{context} mismatch in number of returns {len(fakes)} != {len(reals)}")
        if self.check_aliasing:
            _check_alias_info(context, real, real_in, fake, fake_in)
        for i, (r, f) in enumerate(zip(reals, fakes, strict=True)):
            if isinstance(r, torch.Tensor) != isinstance(f, torch.Tensor):
                raise AssertionError(f"{context} mismatched number of tensor outputs")
            if isinstance(r, torch.Tensor):
                try:
                    _check_fake_real_tensors(r, f, strides=self.check_strides)
                except Exception as e:
                    place = "" if len(reals) == 1 else f" for output[{i}]"
                    raise MetadataMismatchError(f"{context} mismatched tensor metadata{place}: {e}") from e
