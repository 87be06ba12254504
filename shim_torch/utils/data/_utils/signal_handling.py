"""What a loader's process does when a worker of it dies."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from typing import Any

_worker_pids: dict[int, tuple[int, ...]] = {}  # of each iterator, by its id
_SIGCHLD_handler_set = False


def _set_worker_pids(key: int, child_pids: tuple[int, ...]) -> None:
    """From now on the workers of the iterator ``key`` are looked after."""
    if not isinstance(child_pids, tuple):
        raise TypeError("_set_worker_pids expects a tuple for child_pids.")
    if key in _worker_pids:
        raise ValueError("_set_worker_pids should be called only once for each _BaseDataLoaderIter.")
    _worker_pids[key] = child_pids


def _remove_worker_pids(key: int) -> None:
    """The workers of the iterator ``key`` may end."""
    if key not in _worker_pids:
        raise ValueError(f"Cannot find worker information for _BaseDataLoaderIter with id {key}")
    del _worker_pids[key]


def _error_if_any_worker_fails() -> None:
    """RuntimeError where a worker was killed or ended with an error, which is said once."""
    for key, pids in list(_worker_pids.items()):
        for pid in pids:
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # it was waited for
                continue
            if ended is None or (ended.si_code == os.CLD_EXITED and ended.si_status == 0):
                continue
            _worker_pids[key] = ()
            if ended.si_code == os.CLD_EXITED:
                raise RuntimeError(
                    f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {ended.si_status}. Details are lost due to "
                    "multiprocessing. Rerunning with num_workers=0 may give better error trace."
                )
            text = f"DataLoader worker (pid {pid}) is killed by signal: {signal.strsignal(ended.si_status)}. "
            if ended.si_status == signal.SIGBUS:
                text += "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
            raise RuntimeError(text)


def _a_child_ended(before: Any, number: int, frame: Any) -> None:
    """The handler of SIGCHLD; ``before`` is the one that was there."""
    _error_if_any_worker_fails()
    if callable(before):
        before(number, frame)


def _set_SIGCHLD_handler() -> None:
    """A worker's death raises in the main thread, where it runs Python; a handler that was there is called after."""
    global _SIGCHLD_handler_set
    possible = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
    if possible and not _SIGCHLD_handler_set:
        signal.signal(signal.SIGCHLD, functools.partial(_a_child_ended, signal.getsignal(signal.SIGCHLD)))
        _SIGCHLD_handler_set = True


def _set_worker_signal_handlers() -> None:
    """A worker that a bus error or a segmentation fault ends says on stderr where it was."""
    import faulthandler
    import io

    try:
        faulthandler.enable()
    except (io.UnsupportedOperation, AttributeError, RuntimeError):  # no stderr of the system's
        pass


def _death(workers: list[Any]) -> tuple[RuntimeError, RuntimeError]:
    """How the first of the workers that ended by themselves did, and the error for all of them."""
    import signal

    first = workers[0]
    if (first.exitcode or 0) < 0:
        how = f"DataLoader worker (pid {first.pid}) is killed by signal: {signal.strsignal(-first.exitcode)}. "
    else:
        how = (
            f"DataLoader worker (pid {first.pid}) exited unexpectedly with exit code {first.exitcode}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )
    pids = ", ".join(str(w.pid) for w in workers)
    return RuntimeError(how), RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")


def _check_open_files() -> None:
    """RuntimeError where this process can open few more files: a batch's tensors are files to it."""
    import errno
    import os

    opened = []
    try:
        for _ in range(10):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as e:
        if e.errno == errno.EMFILE:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit using "
                "`ulimit -n` in the shell or change the sharing strategy by calling "
                "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
            ) from None
        raise
    finally:
        for file in opened:
            os.close(file)
