"""``torch.fx.passes.shape_prop``."""

from __future__ import annotations

from typing import Any, NamedTuple


class TensorMetadata(NamedTuple):
    """What a graph notes about a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    from shim_torch._impl.native import _core

    formats = (_core.contiguous_format, _core.channels_last, _core.channels_last_3d)
    found = next((f for f in formats if include_contiguity and _is_in(result, f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), found, False, {})


def _is_in(t: Any, form: Any) -> bool:
    try:
        return bool(t.is_contiguous(memory_format=form))
    except (RuntimeError, TypeError):  # a format for another number of dims
        return False


def __getattr__(name: str) -> Any:
    if name == "ShapeProp":
        made = globals()["ShapeProp"] = _shape_prop()
        return made
    from shim_torch._impl.surface.missing import missing

    return missing("torch.fx.passes.shape_prop", name)


def _shape_prop() -> Any:
    from shim_torch import Tensor
    from shim_torch.fx.interpreter import Interpreter
    from shim_torch.fx.node import map_aggregate
    from shim_torch.utils._pytree import tree_leaves

    def _description(x: Any) -> Any:
        return _extract_tensor_metadata(x) if isinstance(x, Tensor) else x

    class ShapeProp(Interpreter):
        """Runs a graph and notes in ``meta`` what each step gives: "tensor_meta" and "type"."""

        def __init__(self, gm: Any, fake_mode: Any = None) -> None:
            super().__init__(gm)

        def run_node(self, n: Any) -> Any:
            try:
                result = super().run_node(n)
            except Exception as error:
                raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
            n.meta["type"] = type(result)
            if any(isinstance(leaf, Tensor) for leaf in tree_leaves(result)):
                n.meta["tensor_meta"] = map_aggregate(result, _description)
            return result

        def propagate(self, *args: Any) -> Any:
            """Runs the graph for ``args``."""
            return self.run(*args)

    ShapeProp.__module__ = "torch.fx.passes.shape_prop"
    return ShapeProp
