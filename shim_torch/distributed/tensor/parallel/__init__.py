"""``torch.distributed.tensor.parallel``: plans that spread a module's parameters over a mesh, and lay out what goes in and out."""

from __future__ import annotations

import contextlib
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from shim_torch._impl.distributed import overlapped_whole
from shim_torch.distributed.device_mesh import entered_mesh
from shim_torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]


class ParallelStyle(ABC):
    """How one module is spread."""

    src_data_rank: int | None = 0

    @abstractmethod
    def _apply(self, module: Any, device_mesh: Any) -> Any: ...


def _laid(x: Any, mesh: Any, layouts: Any, desired: Any) -> Any:
    """A tensor as a DTensor, placed as is wanted."""
    x = x if isinstance(x, DTensor) else DTensor.from_local(x, mesh, layouts, run_check=False)
    return x if x.placements == _plain(desired, x) else x.redistribute(placements=desired)


def _plain(layouts: Any, x: Any) -> tuple[Any, ...]:
    return tuple(Shard(p.dim + x.dim()) if type(p) is Shard and p.dim < 0 else p for p in layouts)


class _Parameters(ParallelStyle):
    """What Colwise and Rowwise have in common. ``kinds``: for a kind of module its parameters' placements."""

    def __init__(self, inputs: Any, desired: Any, outputs: Any, use_local_output: bool) -> None:
        self.input_layouts, self.desired_input_layouts, self.output_layouts = (inputs,), (desired,), (outputs,)
        self.use_local_output = use_local_output

    def _placements(self, module: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _pieces(self, module: Any, x: Any, mesh: Any) -> Any:
        """A function that gives a layer's output, its collective overlapped with the product; None where that is not done."""
        raise NotImplementedError

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        placements = self._placements(module)

        def partition(_: str, child: Any, mesh: Any) -> None:
            from shim_torch import nn

            for name, p in list(child.named_parameters(recurse=False)):
                spread = distribute_tensor(p.data, mesh, [placements[name]], src_data_rank=self.src_data_rank)
                child.register_parameter(name, nn.Parameter(spread, p.requires_grad))

        def before(module: Any, inputs: Any, mesh: Any) -> Any:
            x = inputs[0]
            if not isinstance(x, DTensor) and self._pieces(module, x, mesh) is None:
                x = DTensor.from_local(x, mesh, self.input_layouts, run_check=False)
            if self._pieces(module, x, mesh) is None:
                x = _laid(x, mesh, self.input_layouts, self.desired_input_layouts)
            return (x, *inputs[1:])

        def forward(module: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
            pieces = None if args or kwargs else self._pieces(module, x, device_mesh)
            return type(module).forward(module, x, *args, **kwargs) if pieces is None else pieces()

        def after(_: Any, output: Any, mesh: Any) -> Any:
            if output.placements != _plain(self.output_layouts, output):
                output = output.redistribute(placements=self.output_layouts)
            return output.to_local() if self.use_local_output else output

        module.forward = types.MethodType(forward, module)
        return distribute_module(module, device_mesh, partition, before, after)


def _kind(module: Any, style: str) -> str:
    from shim_torch import nn

    for name in ("Linear", "Embedding"):
        if isinstance(module, getattr(nn, name)):
            return name
    raise NotImplementedError(f"{style} currently only support nn.Linear and nn.Embedding!")


class ColwiseParallel(_Parameters):
    """Each process has some of a linear layer's outputs, or of an embedding's columns."""

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Replicate(), Replicate(), output_layouts or Shard(-1), use_local_output)

    def _placements(self, module: Any) -> dict[str, Any]:
        linear = _kind(module, "ColwiseParallel") == "Linear"
        return {"weight": Shard(0 if linear else 1), "bias": Shard(0)}

    def _pieces(self, module: Any, x: Any, mesh: Any) -> Any:
        return overlapped_whole.column_pieces(module, x, self.input_layouts[0], mesh)


class RowwiseParallel(_Parameters):
    """Each process has some of a linear layer's inputs, or of an embedding's rows: the sum over all is the output."""

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Shard(-1), Shard(-1), output_layouts or Replicate(), use_local_output)

    def _placements(self, module: Any) -> dict[str, Any]:
        linear = _kind(module, "RowwiseParallel") == "Linear"
        self.desired_input_layouts = (Shard(-1) if linear else Replicate(),)
        return {"weight": Shard(1 if linear else 0), "bias": Replicate()}

    def _pieces(self, module: Any, x: Any, mesh: Any) -> Any:
        return overlapped_whole.row_pieces(module, x, _plain(self.output_layouts, x)[0], mesh)


class SequenceParallel(ParallelStyle):
    """A layer that works on each place of the sequence by itself; its parameters are whole copies."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def partition(_: str, child: Any, mesh: Any) -> None:
            from shim_torch import nn

            for name, p in list(child.named_parameters(recurse=False)):
                whole = distribute_tensor(p.data, mesh, [Replicate()], src_data_rank=self.src_data_rank)
                child.register_parameter(name, nn.Parameter(whole, p.requires_grad))

        def before(_: Any, inputs: Any, mesh: Any) -> Any:
            return (_laid(inputs[0], mesh, self.sequence_sharding, self.sequence_sharding), *inputs[1:])

        def after(_: Any, output: Any, mesh: Any) -> Any:
            return output.to_local() if self.use_local_output else output

        return distribute_module(module, device_mesh, partition, before, after)


def _several(layouts: Any) -> tuple[Any, ...]:
    return layouts if isinstance(layouts, tuple) else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """Tensors among a module's inputs become DTensors of one layout, and are laid out as another. None: an input is left alone."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None, use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts = None if input_layouts is None else _several(input_layouts)
        self.desired_input_layouts = None if desired_input_layouts is None else _several(desired_input_layouts)
        self.input_kwarg_layouts, self.desired_input_kwarg_layouts = (
            input_kwarg_layouts or {},
            desired_input_kwarg_layouts or {},
        )
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if set(self.input_kwarg_layouts) != set(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should name the same inputs")

    def _one(self, x: Any, mesh: Any, layout: Any, desired: Any) -> Any:
        if layout is None:
            return x
        x = _laid(x, mesh, (layout,), (layout if desired is None else desired,))
        return x.to_local() if self.use_local_output else x

    def _prepared(self, args: Any, kwargs: Any, mesh: Any) -> tuple[Any, Any]:
        if self.input_layouts is not None:
            if len(args) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            pairs = zip(args, self.input_layouts, self.desired_input_layouts or (), strict=True)
            args = tuple(self._one(x, mesh, layout, desired) for x, layout, desired in pairs)
        laid = {
            name: self._one(x, mesh, self.input_kwarg_layouts.get(name), self.desired_input_kwarg_layouts.get(name))
            for name, x in kwargs.items()
        }
        return args, laid

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_pre_hook(
            lambda _, args, kwargs: self._prepared(args, kwargs, device_mesh), with_kwargs=True
        )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Tensors among a module's outputs become DTensors of one layout, and are laid out as another."""

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _several(output_layouts), _several(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _after(self, outputs: Any, mesh: Any) -> Any:
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(several) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        found = []
        for x, layout, desired in zip(several, self.output_layouts, self.desired_output_layouts, strict=True):
            if layout is not None:
                x = _laid(x, mesh, (layout,), (desired,))
                x = x.to_local() if self.use_local_output else x
            found.append(x)
        return tuple(found) if isinstance(outputs, tuple) else found[0]

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_hook(lambda _, inputs, outputs: self._after(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """Both."""

    def __init__(
        self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
        desired_input_kwarg_layouts: Any = None, use_local_input: bool = False, output_layouts: Any, desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def parallelize_module(
    module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0
) -> Any:
    """Spreads a module by a style, or its parts by a plan: names, ``*`` for any, and styles.

    Errors: ValueError for a mesh of several dimensions, TypeError for a plan that is none.
    """
    mesh = entered_mesh(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(f'parallelize_module takes a mesh of one dimension, got {mesh!r}: name one, mesh["tp"]')
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        tokens = path.split(".") if path else []
        found = [m for name, m in module.named_modules() if _matches(name.split(".") if name else [], tokens)]
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matching.", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _matches(name: list[str], tokens: list[str]) -> bool:
    return len(name) == len(tokens) and all(fnmatch(a, b) for a, b in zip(name, tokens, strict=True))


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """``cross_entropy`` of logits whose classes are spread does not gather them: it never does here, within or without."""
    yield
