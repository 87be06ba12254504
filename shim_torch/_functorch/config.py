"""``torch._functorch.config``: settings of a graph partitioner that is not here; kept so that they can be set and read."""

import sys

from shim_torch.utils._config_module import install_config_module

fake_tensor_allow_meta = True
fake_tensor_propagate_real_tensors = False
fake_tensor_crossref = False

install_config_module(sys.modules[__name__])
