"""``torch.utils.file_baton``: a lock between processes that is a file, held by whoever could create it."""

from __future__ import annotations

import os
import time
import warnings


class FileBaton:
    """Holds the lock ``lock_file_path`` from a ``try_acquire`` that answered True until ``release``.

    wait_seconds: between two looks of ``wait``; warn_after_seconds: when ``wait`` warns, once (None: never).
    """

    def __init__(self, lock_file_path: str, wait_seconds: float = 0.1, warn_after_seconds: float | None = None) -> None:
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds
        self.fd: int | None = None
        self.warn_after_seconds = warn_after_seconds

    def try_acquire(self) -> bool | None:
        """Whether the file could be created; False where another has it."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Returns once the file is gone. This does not acquire the lock."""
        end = None if self.warn_after_seconds is None else time.monotonic() + self.warn_after_seconds
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if end is not None and time.monotonic() > end:
                warnings.warn(
                    f'Waited on lock file "{self.lock_file_path}" for {self.warn_after_seconds} seconds.', stacklevel=2
                )
                end = None

    def release(self) -> None:
        """Removes the file."""
        if self.fd is not None:
            os.close(self.fd)
        os.remove(self.lock_file_path)
