"""``python -m compat``: the command line of :mod:`shim_torch_proxy`."""

import sys

from shim_torch_proxy.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
