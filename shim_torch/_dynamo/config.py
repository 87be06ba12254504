"""``torch._dynamo.config``: settings of a tracer that is not here; kept so that they can be set and read back."""

import sys

from shim_torch.utils._config_module import install_config_module

cache_size_limit = 8  # PyTorch's older names
accumulated_cache_size_limit = 256

install_config_module(sys.modules[__name__])
