"""``torch.distributed.launcher.api``: functions and programs as torchrun's workers, from Python."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shim_torch._impl.distributed.agent import Agent, Plan
from shim_torch._impl.distributed.workers import CommandWorker, FunctionWorker, Streams

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """How many workers to start and where they meet."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int = 30

    def __post_init__(self) -> None:
        self.rdzv_configs["timeout"] = (
            self.rdzv_timeout if self.rdzv_timeout != -1 else self.rdzv_configs.get("timeout", 900)
        )


class elastic_launch:
    """``elastic_launch(config, entrypoint)(*args)`` gives what each worker of this node returned, by rank."""

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config = config
        self._entrypoint = entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]) -> dict[int, Any]:
    """Runs a function or a program in each worker; what each of this node's gave, by rank.

    Errors: ChildFailedError when one failed, after its restarts; NotImplementedError for other rendezvous than static and c10d.
    """
    if not entrypoint:
        raise ValueError("torch.distributed.launcher: expected a function or the path of a program, got None")
    backend = config.rdzv_backend if config.rdzv_endpoint or config.max_nodes > 1 else "c10d"
    if backend not in ("static", "c10d"):
        raise NotImplementedError(
            f"torch.distributed.launcher: the rendezvous backend {backend} is not supported by shim-torch"
        )
    run_id = config.run_id or str(uuid.uuid4().int)
    node_rank = int(config.rdzv_configs.get("rank", -1))
    plan = Plan(
        config.nproc_per_node, config.min_nodes, config.max_nodes, node_rank, config.rdzv_endpoint, backend, run_id,
        {name: str(value) for name, value in config.rdzv_configs.items()}, config.role, config.max_restarts,
        config.monitor_interval, config.shutdown_timeout, str(getattr(entrypoint, "__qualname__", entrypoint)),
        config.signals_to_handle, config.virtual_local_rank,
    )  # fmt: skip

    def start(local_rank: int, env: dict[str, str], error_file: str) -> Any:
        if not isinstance(entrypoint, str):
            return FunctionWorker(local_rank, error_file, entrypoint, args, env, config.start_method)
        command = [entrypoint, *map(str, args)]
        return CommandWorker(local_rank, error_file, command, os.environ | env, Streams("", {}, {}, None))

    ended = Agent(plan, start, keeps_files=True).run()
    return {rank: worker.result() if isinstance(worker, FunctionWorker) else None for rank, worker in ended}
