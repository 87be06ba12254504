"""``torch.distributed.elastic.multiprocessing``: the errors of workers, and where their output may go."""

from shim_torch._impl.surface.not_built import NO_AGENT, declare
from shim_torch.distributed.elastic.multiprocessing.api import Std

__all__ = ["Std"]
declare(globals(), NO_AGENT, "DefaultLogsSpecs LogsSpecs start_processes")
