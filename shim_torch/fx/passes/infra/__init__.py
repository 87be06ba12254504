"""``torch.fx.passes.infra``."""
