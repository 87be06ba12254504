"""The layers of ``torch.nn``."""

from shim_torch.nn.modules import (
    activation,
    container,
    conv,
    dropout,
    linear,
    loss,
    module,
    normalization,
    sparse,
    spatial,
    utils,
)
from shim_torch.nn.modules.module import Module

batchnorm = instancenorm = normalization
pooling = padding = flatten = upsampling = pixelshuffle = fold = distance = spatial

_LAYERS: dict[str, type[Module]] = {
    name: value
    for source in (activation, container, conv, dropout, linear, loss, normalization, sparse, spatial)
    for name, value in vars(source).items()
    if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")
}
for _name, _layer in _LAYERS.items():
    _layer.__module__ = f"torch.nn.modules.{_layer.__module__.rpartition('.')[2]}"
globals().update(_LAYERS)
Module.__module__ = "torch.nn.modules.module"
__all__ = ["Module", *sorted(_LAYERS)]
_ = (utils, module)
del _
