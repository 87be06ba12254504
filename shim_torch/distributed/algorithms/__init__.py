"""``torch.distributed.algorithms``."""
