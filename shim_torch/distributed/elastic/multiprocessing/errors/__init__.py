"""``torch.distributed.elastic.multiprocessing.errors``: a worker's exception, told to the one who started it."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

from shim_torch._missing import asked_of as _asked_of

__all__ = ["record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """A decorator of main functions: an exception is written to TORCHELASTIC_ERROR_FILE, if that is set, and raised."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code in (0, None):
                return None
            raise
        except Exception as error:
            path = os.environ.get("TORCHELASTIC_ERROR_FILE")
            if path:
                extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}, file)
            raise

    return wrapper


__getattr__ = _asked_of(__name__)
