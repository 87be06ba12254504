"""``torch.distributed.fsdp._flat_param``."""

from __future__ import annotations

from shim_torch.nn.parameter import Parameter


class FlatParameter(Parameter):
    """A parameter made of several, spread over processes; there are none."""
