"""``torch._inductor.config``: settings of a code generator that is not here; kept so that they can be set and read back."""

import sys

from shim_torch.utils._config_module import install_config_module

install_config_module(sys.modules[__name__])
