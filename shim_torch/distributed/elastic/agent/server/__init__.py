"""``torch.distributed.elastic.agent.server``: states and results of workers; torchrun's agent is of another kind."""

__all__: list[str] = []
