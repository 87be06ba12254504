"""``torch._custom_op.impl``: of the first form of custom operators, the context of fake kernels."""

from shim_torch._missing import asked_of as _asked_of
from shim_torch.library import get_ctx as get_ctx

__getattr__ = _asked_of(__name__)
