"""``torch.distributed.elastic.multiprocessing``: the errors of workers."""

__all__: list[str] = []
