"""Two threads write to one tensor: what ThreadSanitizer is to report, else its silence about the other programs says nothing."""

from __future__ import annotations

import threading

import harness  # noqa: F401  the path

import shim_torch as torch

x = torch.zeros(200_000)
threads = [threading.Thread(target=lambda: [x.add_(1) for _ in range(3)]) for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
