"""``torch.ao.nn.quantizable.modules``: empty, for what goes through the list of modules."""

__all__: list[str] = []
