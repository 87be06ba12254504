"""``torch.ao.nn.quantized.modules``: empty, for what goes through the list of modules."""

__all__: list[str] = []
