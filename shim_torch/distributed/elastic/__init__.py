"""``torch.distributed.elastic``: what scripts that torchrun starts import; the agents that watch workers are not here."""

__all__: list[str] = []
