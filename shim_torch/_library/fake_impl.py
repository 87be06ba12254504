"""The context of fake kernels: ``torch._library.fake_impl``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from shim_torch._impl.surface import naming

_assumed = threading.local()  # .size: what stands for each size that depends on data; absent: nothing does


@contextlib.contextmanager
def _sizes_of_data(size: int) -> Iterator[None]:
    """Within it sizes that depend on data are ``size``, for those who check a kernel and know that it is none."""
    before = getattr(_assumed, "size", None)
    _assumed.size = size
    try:
        yield
    finally:
        _assumed.size = before


class FakeImplCtx:
    """The context of fake kernels: sizes that depend on data."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size known only from data: sizes here are plain numbers, so that fake tensors of such a size cannot be made."""
        from shim_torch._subclasses import fake_tensor

        if (size := getattr(_assumed, "size", None)) is not None:
            size = size if size >= min else size + min
            return size if max is None or size <= max else max
        if fake_tensor._inside.depth:
            raise fake_tensor.DynamicOutputShapeException(fake_tensor._inside.func)
        raise RuntimeError(
            "You're trying to run this operator with meta Tensors (as opposed to FakeTensors), but this operator may return an output "
            "Tensor with data-dependent shape. Meta Tensors don't support operators with outputs that have data-dependent shapes but "
            "FakeTensors do. If your operator does not return an output with data-dependent shape, make sure the FakeTensor and/or "
            "meta kernel does not call torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )

    new_unbacked_symint = create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeImplCtx:
    """The context of the fake kernel that runs."""
    return FakeImplCtx()


naming.present(globals(), elsewhere={"torch.library": ["get_ctx"]})
