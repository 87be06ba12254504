"""``torch._functorch.config``: settings of a graph partitioner that is not here; kept so that they can be set and read."""

import sys

from shim_torch.utils._config_module import install_config_module

install_config_module(sys.modules[__name__])
