"""``torch.distributed.elastic.multiprocessing``: the errors of workers."""

from shim_torch._impl.surface.missing import asked_of as _asked_of

__all__: list[str] = []
__getattr__ = _asked_of(__name__)
