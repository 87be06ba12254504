"""``torch.distributed.launcher.api``: one worker, as ``torch.distributed.run`` starts one. Groups are of one process."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """How many workers to start and where they meet; what concerns watching several workers is kept, and has no effect."""

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
    """``elastic_launch(config, entrypoint)(*args)`` gives ``{0: what the worker returned}``."""

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config = config
        self._entrypoint = entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any]) -> dict[int, Any]:
    """Runs a function in this process, with the worker's environment, or a command; ``{0: its result}``.

    Errors: NotImplementedError for several processes; what the function raises; CalledProcessError of a command that fails.
    """
    from shim_torch.distributed.run import _environment, parse_args

    if config.nproc_per_node != 1 or config.min_nodes != 1:
        raise NotImplementedError(
            f"torch.distributed.launcher: {config.nproc_per_node} processes on {config.min_nodes}:{config.max_nodes} nodes; "
            "shim-torch supports groups of one process only"
        )
    if not entrypoint:
        raise ValueError("torch.distributed.launcher: expected a function or the path of a program, got None")
    options = ["--rdzv-endpoint", config.rdzv_endpoint, "--rdzv-id", config.run_id or str(uuid.uuid4().int)]
    options += ["--max-restarts", str(config.max_restarts), "--role", config.role, "worker"]
    worker = _environment(parse_args(options))
    if isinstance(entrypoint, str):
        return {0: subprocess.run([entrypoint, *map(str, args)], env=os.environ | worker, check=True).returncode}
    before = dict(os.environ)
    os.environ.update(worker)
    try:
        return {0: entrypoint(*args)}
    finally:
        for name in worker:
            os.environ.pop(name, None)
        os.environ.update(before)
