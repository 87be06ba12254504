"""``torch._lazy``: tensors whose operators run later. There are none: a tensor on the device ``lazy`` is refused."""

from __future__ import annotations

from shim_torch._impl.surface.not_built import declare

declare(globals(), "there are no lazy tensors", "mark_step wait_device_ops sync_multi get_tensor_id to_cpu save")
