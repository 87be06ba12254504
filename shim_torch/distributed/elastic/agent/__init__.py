"""``torch.distributed.elastic.agent``: what agents that watch workers say of them."""

__all__: list[str] = []
