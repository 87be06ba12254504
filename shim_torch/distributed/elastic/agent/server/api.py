"""``torch.distributed.elastic.agent.server.api``: the states and the result of a group of workers."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from shim_torch._impl.surface.not_built import NO_AGENT, declare
from shim_torch.distributed.elastic.multiprocessing.errors import ProcessFailure


class WorkerState(str, enum.Enum):
    """What a group of workers is doing."""

    UNKNOWN = "UNKNOWN"
    INIT = "INIT"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @staticmethod
    def is_running(state: WorkerState) -> bool:
        """Whether there are processes of it, well or not."""
        return state in (WorkerState.HEALTHY, WorkerState.UNHEALTHY)


@dataclass
class RunResult:
    """How a group ended: what each rank returned, or how it failed."""

    state: WorkerState
    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether the group failed."""
        return self.state == WorkerState.FAILED


declare(globals(), NO_AGENT, "ElasticAgent SimpleElasticAgent Worker WorkerGroup WorkerSpec")
