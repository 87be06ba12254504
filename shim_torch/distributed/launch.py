"""``python -m torch.distributed.launch``: the older name of ``torch.distributed.run``."""

from __future__ import annotations

from shim_torch.distributed.run import main, parse_args

__all__ = ["main", "parse_args"]

if __name__ == "__main__":
    main()
