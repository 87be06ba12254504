"""Shapes of blocks: the interpreter makes them anew, constant by constant, with every value of a kernel.

Half of the time of an interpreted kernel goes there. A shape is the same object for all blocks that have it here; no
kernel can change one (``tl.tuple`` has no assignment).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch

_MODULE = "triton.language.core"


def _types(core: ModuleType, patch: Patch) -> None:
    """``block_type(element, shape)`` checks a shape when it is first seen."""
    stock, constexpr, sequence = core.block_type.__init__, core.constexpr, core.tuple
    seen: dict[tuple[int, ...], tuple[Any, int, str]] = {}

    def __init__(self: Any, element_ty: Any, shape: Any) -> None:
        sizes = shape.values if type(shape) is sequence else shape
        key = tuple([size.value if type(size) is constexpr else size for size in sizes])
        for size in key:
            if type(size) is not int:  # 16.0 and True equal a size that may be known
                return stock(self, element_ty, shape)
        known = seen.get(key)
        if known is None:
            stock(self, element_ty, shape)
            seen[key] = self.shape, self.numel, str(self.shape)
            return None
        self.element_ty = element_ty
        self.shape, self.numel, text = known
        self.name = f"<{text}, {element_ty}>"
        return None

    patch.set(core.block_type, "__init__", __init__)


def _values(core: ModuleType, patch: Patch) -> None:
    """A tensor's ``shape`` and ``numel``, constants, belong to the shape of its type."""
    constexpr, sequence = core.constexpr, core.tuple
    nothing = sequence([])
    one = constexpr(1)

    def __init__(self: Any, handle: Any, type: Any) -> None:
        self.handle = handle
        self.type = type
        self.dtype = type.scalar
        if not type.is_block():
            self.shape, self.numel = nothing, one
            return
        sizes = type.shape
        kept = vars(sizes).get("_constants") if hasattr(sizes, "__dict__") else None
        if kept is None:
            constants = sequence([constexpr(size) for size in sizes])
            numel = 1
            for size in sizes:
                numel *= size
            kept = constants, constexpr(numel)
            if hasattr(sizes, "__dict__"):
                vars(sizes)["_constants"] = kept
        self.shape, self.numel = kept

    patch.set(core.tensor, "__init__", __init__)


def _equality(core: ModuleType, patch: Patch) -> None:
    """A type or a shape that is the very same is equal; only others are compared name by name, size by size."""
    stock_dtype, stock_tuple = core.dtype.__eq__, core.tuple.__eq__
    true = core.constexpr(True)

    def dtype_eq(self: Any, other: Any) -> Any:
        return True if other is self else stock_dtype(self, other)

    def tuple_eq(self: Any, other: Any) -> Any:
        return true if other is self else stock_tuple(self, other)

    patch.set(core.dtype, "__eq__", dtype_eq)
    if type(stock_tuple(core.tuple([]), core.tuple([]))) is core.constexpr:
        patch.set(core.tuple, "__eq__", tuple_eq)


def _broadcast(semantic: ModuleType, patch: Patch) -> None:
    """Blocks of one shape need no broadcasting, and sizes are compared as numbers."""
    owner, block_type = semantic.TritonSemantic, semantic.tl.block_type
    stock = owner.broadcast_impl_value

    def grown(self: Any, value: Any, sizes: list[int]) -> Any:
        if value.type.shape.values == sizes:
            return value
        return self.tensor(self.builder.create_broadcast(value.handle, sizes), block_type(value.type.scalar, sizes))

    def broadcast_impl_value(self: Any, lhs: Any, rhs: Any) -> Any:
        left, right = lhs.type, rhs.type
        if not (left.is_block() and right.is_block()):
            return stock(self, lhs, rhs)
        if left.shape is right.shape:
            return lhs, rhs
        pairs = list(zip(left.shape, right.shape, strict=False))
        if len(left.shape) != len(right.shape) or any(a != b and a != 1 and b != 1 for a, b in pairs):
            return stock(self, lhs, rhs)
        sizes = [b if a == 1 else a for a, b in pairs]
        return grown(self, lhs, sizes), grown(self, rhs, sizes)

    patch.set(owner, "broadcast_impl_value", broadcast_impl_value)


MENDS = (
    Mend("block types", "a shape is checked once, not with every value", _MODULE, _types),
    Mend("shapes", "a tensor's shape is made once, not with every value", _MODULE, _values),
    Mend("equal types", "a type is compared with others, not with itself", _MODULE, _equality),
    Mend("equal shapes", "blocks of one shape are not broadcast again", "triton.language.semantic", _broadcast),
)
