"""How ``linear_cross_entropy`` chunks its batch, so that the logits of all rows are never in memory at once."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from shim_torch._impl.native import _core

_DTYPES = (_core.float16, _core.bfloat16, _core.float32, _core.float64)

_METHOD = re.compile(r"auto|aspect_ratio(:0*[1-9]\d*)?")


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Settings of the chunked form.

    allow_retain_graph  a second backward is always allowed here: gradients are computed again from the inputs
    batch_chunk_size    rows a chunk; None: by ``chunking_method``, or all of them
    chunking_method     "auto", "aspect_ratio" or "aspect_ratio:N" (N times smaller chunks), None
    acc_policy          "auto", "accurate", "balanced" or "compact": here all accumulate in ``acc_dtype``
    acc_dtype           dtype of the losses' sum; None: float32 for narrow inputs, else the input's

    Raises:
        ValueError: a setting that is none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        policy, rows, method = self.acc_policy, self.batch_chunk_size, self.chunking_method
        for holds, problem in (
            (policy in ("auto", "accurate", "balanced", "compact"), f"invalid acc_policy: {policy!r}"),
            (method is None or _METHOD.fullmatch(str(method)), f"invalid chunking_method: {method!r}"),
            (
                rows is None or (isinstance(rows, int) and rows > 0),
                f"batch_chunk_size must be positive int or None, got {rows!r}",
            ),
            (
                self.acc_dtype in (None, *_DTYPES),
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically.",
            ),
        ):
            if not holds:
                raise ValueError(problem)

    def rows(self, batch: int, features: int, classes: int, device: Any, dtype: Any) -> int:
        """Rows a chunk for an input (batch, features)."""
        method = self.chunking_method
        if method == "auto":
            method = None if self.batch_chunk_size is not None else "aspect_ratio:2"
            if method and device.type == "cpu" and dtype in (_core.float16, _core.bfloat16):
                method = "aspect_ratio"
        found = batch if self.batch_chunk_size is None else min(self.batch_chunk_size, batch)
        if method is not None:
            factor = int(method.partition(":")[2] or 1)
            wanted = -(-batch // max(1, -(-classes // features)))
            by_shape = min((1 << max(wanted - 1, 0).bit_length()) // factor, batch)
            if self.batch_chunk_size is not None and self.batch_chunk_size != by_shape:
                raise ValueError(
                    f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give different chunk sizes "
                    f"({self.batch_chunk_size} vs {by_shape}); pass only one."
                )
            found = by_shape
        return max(1, found)
