"""``python -m torch.distributed.run`` (torchrun): starts the workers of a node and watches them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import uuid
from typing import Any

from shim_torch._impl.distributed.agent import Agent, Plan
from shim_torch._impl.distributed.workers import CommandWorker, Streams

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """torchrun's options; ``-`` and ``_`` in their names mean the same."""
    parser = argparse.ArgumentParser(
        prog="torchrun", description="Starts a script in several processes, and watches them"
    )

    def option(name: str, default: Any = None, kind: Any = str, flag: str | None = None, **more: Any) -> None:
        names = [*([flag] if flag else []), f"--{name}", *([f"--{name.replace('-', '_')}"] if "-" in name else [])]
        parser.add_argument(*names, **({"default": default, "type": kind} | more if "action" not in more else more))

    option("nnodes", "1:1")
    option("nproc-per-node", "1")
    option("rdzv-backend", "static")
    option("rdzv-endpoint", "")
    option("rdzv-id", "none")
    option("rdzv-conf", "")
    option("standalone", action="store_true")
    option("max-restarts", 0, int)
    option("monitor-interval", 0.1, float)
    option("start-method", "spawn", choices=["spawn", "fork", "forkserver"])
    option("role", "default")
    option("node-rank", 0, int)
    option("master-addr", "127.0.0.1")
    option("master-port", 29500, int)
    option("local-addr")
    option("log-dir")
    option("logs-specs")
    option("local-ranks-filter", "")
    option("redirects", "0", flag="-r")
    option("tee", "0", flag="-t")
    option("module", action="store_true", flag="-m")
    option("no-python", action="store_true")
    option("run-path", action="store_true")
    option("event-log-handler", "null")
    option("duplicate-stdout-filters", "")
    option("duplicate-stderr-filters", "")
    option("numa-binding")
    option("signals-to-handle", "SIGTERM,SIGINT,SIGHUP,SIGQUIT")
    option("shutdown-timeout", 30, int)
    option("virtual-local-rank", action="store_true")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def _processes(text: str) -> int:
    """How many workers a node has. Errors: ValueError for a word that is none."""
    if text == "cpu":
        return os.cpu_count() or 1
    if text in ("gpu", "auto", "xpu"):
        from shim_torch import cuda

        count = cuda.device_count()
        if text == "gpu" and not count:
            raise ValueError("Cuda is not available.")
        if text == "xpu":
            raise ValueError("Xpu is not available.")
        return count or os.cpu_count() or 1
    if not text.isdigit() or not int(text):
        raise ValueError(f"Unsupported nproc_per_node value: {text}")
    return int(text)


def _plan(args: argparse.Namespace) -> Plan:
    least, _, most = args.nnodes.partition(":")
    if not 0 < int(least) <= int(most or least):
        raise AssertionError(
            f"min_nodes must be > 0 and <= max_nodes, got min_nodes={least}, max_nodes={most or least}"
        )
    backend, endpoint, run_id = args.rdzv_backend, args.rdzv_endpoint, args.rdzv_id
    if backend not in ("static", "c10d"):
        raise NotImplementedError(
            f"torch.distributed.run: the rendezvous backend {backend} is not supported by shim-torch"
        )
    if args.standalone:
        backend, endpoint, run_id = "c10d", "", str(uuid.uuid4())
    elif backend == "static" and not endpoint:
        endpoint = f"{args.master_addr}:{args.master_port}"
    return Plan(
        _processes(args.nproc_per_node), int(least), int(most or least), args.node_rank, endpoint, backend, run_id,
        dict(pair.split("=", 1) for pair in args.rdzv_conf.split(",") if pair), args.role, args.max_restarts,
        args.monitor_interval, args.shutdown_timeout, args.training_script, args.signals_to_handle, args.virtual_local_rank,
    )  # fmt: skip


def _command(args: argparse.Namespace) -> list[str]:
    script = [args.training_script, *args.training_script_args]
    if args.run_path:
        program = "import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        return [sys.executable, "-u", "-c", program, *script]
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return script
    return [sys.executable, "-u", *(["-m"] if args.module else []), *script]


def run(args: argparse.Namespace) -> None:
    """Starts the workers and waits for them. Errors: ChildFailedError when one failed, after its restarts."""
    if args.numa_binding or args.duplicate_stdout_filters or args.duplicate_stderr_filters:
        raise NotImplementedError(
            "torch.distributed.run: --numa-binding and --duplicate-*-filters are not supported by shim-torch"
        )
    plan, command = _plan(args), _command(args)
    logs, folder = args.log_dir or "", None  # each run has a folder of its own
    if not logs and (args.redirects != "0" or args.tee != "0" or args.local_ranks_filter):
        logs = tempfile.mkdtemp(prefix="torchelastic_logs_")
    if logs:
        os.makedirs(logs, exist_ok=True)
        folder = tempfile.mkdtemp(prefix=f"{plan.run_id}_", dir=logs)
    shown = {int(rank) for rank in args.local_ranks_filter.split(",")} if args.local_ranks_filter else None

    def start(local_rank: int, env: dict[str, str], error_file: str) -> CommandWorker:
        attempt = os.path.join(folder or "", f"attempt_{env['TORCHELASTIC_RESTART_COUNT']}")
        redirects, tees = (Streams.flags(text, plan.processes) for text in (args.redirects, args.tee))
        return CommandWorker(
            local_rank, error_file, command, os.environ | env, Streams(attempt, redirects, tees, shown)
        )

    Agent(plan, start, folder=folder).run()


def main(args: list[str] | None = None) -> None:
    """The command."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
