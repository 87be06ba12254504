"""``torch.distributed.algorithms.model_averaging``: averages of the parameters that several processes train."""
