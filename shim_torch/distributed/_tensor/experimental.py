"""``torch.distributed._tensor.experimental``: the old place of ``torch.distributed.tensor.experimental``."""

from shim_torch.distributed.tensor import experimental as _new

__all__ = list(_new.__all__)
globals().update({name: getattr(_new, name) for name in __all__})
__getattr__ = _new.__getattr__
