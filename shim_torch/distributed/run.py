"""``python -m torch.distributed.run`` (torchrun) for one process, which runs the script itself.

PyTorch's launcher starts the workers and watches them. With one worker there is nobody to watch, so the script runs in
this process, with the same arguments and environment; its exit status and exceptions are the process's.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
import uuid
from typing import Any

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """torchrun's options; ``-`` and ``_`` in their names mean the same."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Runs a script as torchrun does, in one process")

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
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: list[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def _environment(options: argparse.Namespace) -> dict[str, str]:
    """What torchrun tells its one worker."""
    host, _, port = options.rdzv_endpoint.partition(":")
    if options.standalone or not options.rdzv_endpoint:
        host, port = options.master_addr, str(options.master_port)
    found = {"LOCAL_RANK": "0", "RANK": "0", "GROUP_RANK": "0", "ROLE_RANK": "0", "ROLE_NAME": options.role}
    found |= dict.fromkeys(("LOCAL_WORLD_SIZE", "WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"), "1")
    run_id = str(uuid.uuid4()) if options.standalone else options.rdzv_id
    found |= {"MASTER_ADDR": host or "127.0.0.1", "MASTER_PORT": port or "29500", "TORCHELASTIC_RUN_ID": run_id}
    found |= {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": str(options.max_restarts)}
    return found | {"TORCHELASTIC_USE_AGENT_STORE": "False", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}


def run(args: argparse.Namespace) -> None:
    """Runs the script of parsed options. Errors: NotImplementedError for several processes; what the script raises."""
    processes, nodes = args.nproc_per_node, args.nnodes.split(":")
    if processes in ("gpu", "auto", "cpu"):
        from shim_torch import cuda

        processes = str(cuda.device_count() or 1) if processes != "cpu" else str(os.cpu_count())
    if not processes.isdigit():
        raise ValueError(f"Unsupported nproc_per_node value: {processes}")
    if processes != "1" or nodes[0] != "1":
        raise NotImplementedError(
            f"torch.distributed.run: {processes} processes on {args.nnodes} nodes; shim-torch supports groups of one process "
            "only: --nnodes 1 --nproc-per-node 1"
        )
    os.environ.update(_environment(args))
    script, arguments = args.training_script, args.training_script_args
    if args.no_python:
        os.execvp(script, [script, *arguments])
    sys.argv = [script, *arguments]
    if args.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
        runpy.run_path(script, run_name="__main__")


def main(args: list[str] | None = None) -> None:
    """The command."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
