"""``tl.map_elementwise`` in Triton's interpreter, which lacks it: the function is called for each element."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from shim_torch_proxy.adapters.triton.mends.mend import Mend, Patch


def _map_elementwise(core: ModuleType, patch: Patch) -> None:
    import numpy as np

    if not hasattr(core, "map_elementwise"):
        return

    def scalar(value: Any, dtype: Any) -> Any:
        from triton.runtime import interpreter

        return core.tensor(interpreter.TensorHandle(np.array([value]), dtype), dtype)

    def map_elementwise(
        scalar_fn: Any, *args: Any, pack: int = 1, _semantic: Any = None, _generator: Any = None
    ) -> Any:
        from triton.runtime import interpreter

        pack = getattr(pack, "value", pack)
        shape = np.broadcast_shapes(*(arg.handle.data.shape for arg in args))
        dtypes = [arg.type.scalar for arg in args]
        columns = [np.broadcast_to(arg.handle.data, shape).reshape(-1) for arg in args]
        rows: list[Any] = []
        for at in range(0, len(columns[0]), pack):
            inputs = [scalar(c[at + j], t) for c, t in zip(columns, dtypes) for j in range(pack)]  # noqa: B905
            found = scalar_fn(*inputs)
            found = tuple(found) if isinstance(found, (tuple, core.tuple)) else (found,)
            rows.append([interpreter.interpreter_semantic.to_tensor(value) for value in found])
        results = []
        for first in range(0, len(rows[0]), pack):
            dtype = rows[0][first].type.scalar
            data = np.array([row[first + j].handle.data.item() for row in rows for j in range(pack)])
            data = data.astype(interpreter._get_np_dtype(dtype)).reshape(shape)
            block = any(arg.type.is_block() for arg in args)
            results.append(
                core.tensor(
                    interpreter.TensorHandle(data, dtype), core.block_type(dtype, list(shape)) if block else dtype
                )
            )
        return results[0] if len(results) == 1 else core.tuple(results)

    patch.set(core, "map_elementwise", map_elementwise)
    language = sys.modules.get("triton.language")
    if hasattr(language, "map_elementwise"):  # executed before: it has the stock one by name
        patch.set(language, "map_elementwise", map_elementwise)


MENDS = (
    Mend(
        "map_elementwise", "calls its function for each element", "triton.language.core", _map_elementwise, since=(3, 5)
    ),
)
