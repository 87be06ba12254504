"""``torch.distributed.elastic.utils.logging``: loggers whose level the environment says."""

from __future__ import annotations

import logging
import os
import sys


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of that name, or of the module that calls, at the level that ``$LOGLEVEL`` names (WARNING)."""
    found = logging.getLogger(name or sys._getframe(1).f_globals["__name__"])
    found.setLevel(os.environ.get("LOGLEVEL", "WARNING"))
    return found
