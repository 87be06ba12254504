"""torchrun's agent, one a node: nodes meet at a store, each starts its workers; if one fails, all are started again or end."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed import workers
from shim_torch._impl.distributed.stores import DistNetworkError, DistStoreError, PrefixStore, TCPStore


@dataclasses.dataclass
class Plan:
    """What is started. Nodes: ``least`` to ``most``; ``node_rank``: -1, or the place of this node."""

    processes: int
    least: int = 1
    most: int = 1
    node_rank: int = -1
    endpoint: str = ""
    backend: str = "static"
    run_id: str = "none"
    configs: dict[str, str] = dataclasses.field(default_factory=dict)
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1
    patience: float = 30.0
    name: str = "torchrun"
    signals: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    virtual_local_rank: bool = False


class SignalException(Exception):
    """The agent got a signal that ends it."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


@contextlib.contextmanager
def _signals(names: str) -> Iterator[None]:
    """Makes signals exceptions: the workers are to end before the agent does."""

    def caught(number: int, _: Any) -> None:
        raise SignalException(f"Process {os.getpid()} got signal: {number}", signal.Signals(number))

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in filter(None, (n.strip() for n in names.split(","))):
        number = getattr(signal, name)
        before[number] = signal.signal(number, caught)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Agent:
    """Runs the workers of a plan. ``start``: makes the worker of (local rank, environment, error file).

    ``folder``: of the run's files, which stay; without it error files are in one of their own.
    """

    def __init__(self, plan: Plan, start: Any, keeps_files: bool = False, folder: str | None = None) -> None:
        self._plan, self._start, self._keeps_files = plan, start, keeps_files or folder is not None
        self._store: Any = None
        self._number, self._sizes, self._attempt = 0, [plan.processes], 0
        self._workers: list[Any] = []
        self._serves = False
        self._errors = folder or workers.error_folder()

    def run(self) -> list[tuple[int, Any]]:
        """(rank, worker) of this node once all ended well. Errors: ChildFailedError; SignalException."""
        with _signals(self._plan.signals):
            try:
                self._meet()
                while not self._attempted():
                    self._attempt += 1
                return [(self._first() + w.local_rank, w) for w in self._workers]
            except BaseException as error:
                number = getattr(error, "sigval", signal.SIGTERM)
                workers.stop(self._workers, self._plan.patience, number)
                raise
            finally:
                if all(worker.code() == 0 for worker in self._workers) and not self._keeps_files:
                    shutil.rmtree(self._errors, ignore_errors=True)

    # --- nodes ---------------------------------------------------------------------------------------------------------
    def _meet(self) -> None:
        plan = self._plan
        timeout = timedelta(seconds=float(plan.configs.get("join_timeout", plan.configs.get("timeout", 600))))
        host, _, port = plan.endpoint.rpartition(":") if ":" in plan.endpoint else (plan.endpoint, "", "")
        host, number = host or "127.0.0.1", int(port or (0 if plan.most == 1 else 29400))
        self._store = PrefixStore(f"torchrun/{plan.run_id}", self._opened(host, number, timeout))
        self._host = host
        if plan.most == 1:
            return
        mine = plan.node_rank if plan.node_rank >= 0 and plan.backend == "static" else self._store.add("nodes", 1) - 1
        if mine >= plan.most:
            raise RuntimeError(f"torchrun: {plan.most} nodes of the run {plan.run_id} are there already")
        self._number = mine
        self._store.set(f"node {mine}", str(plan.processes))
        nodes = self._settled(timeout) if plan.backend != "static" else plan.most
        try:
            self._store.wait([f"node {n}" for n in range(nodes)], timeout)
        except DistStoreError:
            raise DistStoreError(f"torchrun: not all of {nodes} nodes came in {timeout}") from None
        self._sizes = [int(self._store.get(f"node {n}")) for n in range(nodes)]

    def _settled(self, timeout: timedelta) -> int:
        """How many nodes take part: all, or those that came until nobody did any more for a while. Node 0 decides."""
        plan, end = self._plan, time.monotonic() + timeout.total_seconds()
        if self._number:
            return self._get("settled", timeout)
        last = time.monotonic() + float(plan.configs.get("last_call_timeout", 30))
        while time.monotonic() < end:
            there = min(self._store.add("nodes", 0), plan.most)
            if there == plan.most or (there >= plan.least and time.monotonic() > last):
                self._store.set("settled", str(there))
                return int(there)
            time.sleep(0.05)
        raise DistStoreError(f"torchrun: fewer than {plan.least} nodes came in {timeout}")

    def _get(self, key: str, timeout: timedelta) -> int:
        self._store.wait([key], timeout)
        return int(self._store.get(key))

    def _opened(self, host: str, port: int, timeout: timedelta) -> TCPStore:
        """The store of all nodes, which this one serves if it is the first."""
        plan = self._plan
        serves = plan.most == 1 or (plan.node_rank == 0 if plan.backend == "static" else self._may_serve(host))
        if serves:
            try:
                store = TCPStore(host, port, None, True, timeout, wait_for_workers=False)
                self._serves = True
                return store
            except DistNetworkError:
                if plan.backend == "static" or plan.most == 1:
                    raise  # with c10d another node of this host was first
        return TCPStore(host, port, None, False, timeout, wait_for_workers=False)

    def _may_serve(self, host: str) -> bool:
        if "is_host" in self._plan.configs:
            return self._plan.configs["is_host"].lower() in ("1", "true", "t", "yes", "y")
        try:
            here = {a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None)} | {"127.0.0.1", "::1"}
            return any(a[4][0] in here for a in socket.getaddrinfo(host, None))
        except OSError:
            return host in ("localhost", socket.gethostname(), socket.getfqdn())

    # --- workers -------------------------------------------------------------------------------------------------------
    def _first(self) -> int:
        return sum(self._sizes[: self._number])

    def _environment(self, local_rank: int, error_file: str) -> dict[str, str]:
        plan, total, rank = self._plan, sum(self._sizes), self._first() + local_rank
        own = 0 if plan.virtual_local_rank else local_rank
        found = {"LOCAL_RANK": own, "RANK": rank, "GROUP_RANK": self._number, "ROLE_RANK": rank, "ROLE_NAME": plan.role}
        found |= {"LOCAL_WORLD_SIZE": plan.processes, "WORLD_SIZE": total, "GROUP_WORLD_SIZE": len(self._sizes)}
        found |= {"ROLE_WORLD_SIZE": total, "MASTER_ADDR": self._host, "MASTER_PORT": self._store.port}
        found |= {"TORCHELASTIC_RESTART_COUNT": self._attempt, "TORCHELASTIC_MAX_RESTARTS": plan.max_restarts}
        found |= {"TORCHELASTIC_RUN_ID": plan.run_id, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        found |= {"TORCHELASTIC_ERROR_FILE": error_file}
        if plan.processes > 1 or "OMP_NUM_THREADS" not in os.environ:
            found |= {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        return {name: str(value) for name, value in found.items()}

    def _attempted(self) -> bool:
        """Starts the workers and waits for them; whether all of all nodes ended well, False if they are to be started again."""
        failed = f"failed {self._attempt}"
        self._workers = []
        for local_rank in range(self._plan.processes):
            own = os.path.join(self._errors, f"attempt_{self._attempt}", str(local_rank))
            os.makedirs(own, exist_ok=True)
            error_file = os.path.join(own, "error.json")
            self._workers.append(self._start(local_rank, self._environment(local_rank, error_file), error_file))
        while True:
            codes = [worker.code() for worker in self._workers]
            bad = any(code not in (None, 0) for code in codes)
            if bad:
                self._store.set(failed, "1")
            if bad or self._store.check([failed]):
                return self._after_failure()
            if all(code == 0 for code in codes):
                break
            time.sleep(self._plan.interval)
        return self._all_nodes_done(failed)

    def _all_nodes_done(self, failed: str) -> bool:
        nodes, done = len(self._sizes), f"done {self._attempt}"
        self._store.add(done, 1)
        while self._store.add(done, 0) < nodes:
            if self._store.check([failed]):
                return self._after_failure()
            time.sleep(self._plan.interval)
        self._say_goodbye()
        return True

    def _say_goodbye(self) -> None:
        """The node that serves the store stays until the others have read it."""
        nodes = len(self._sizes)
        left = self._store.add("left", 1)
        end = time.monotonic() + 30
        while self._serves and left < nodes and time.monotonic() < end:
            time.sleep(0.02)
            left = self._store.add("left", 0)

    def _after_failure(self) -> bool:
        """False: the workers ended and are to be started again. Errors: ChildFailedError."""
        from shim_torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

        time.sleep(min(self._plan.interval, 0.1))  # what fails together is told together
        found = [(w, w.code()) for w in self._workers]
        for worker, code in found:
            if code:
                print(
                    f"failed (exitcode: {code}) local_rank: {worker.local_rank} (pid: {worker.pid}) of {self._plan.name}",
                    file=sys.stderr, flush=True,
                )  # fmt: skip
        workers.stop(self._workers, self._plan.patience)
        if self._attempt < self._plan.max_restarts:
            return False
        failures = {
            self._first() + w.local_rank: ProcessFailure(w.local_rank, w.pid, code, w.error_file)
            for w, code in found
            if code
        }
        with contextlib.suppress(DistNetworkError):
            self._say_goodbye()
        if not failures:
            raise RuntimeError("torchrun: a worker of another node failed")
        raise ChildFailedError(self._plan.name, failures)
