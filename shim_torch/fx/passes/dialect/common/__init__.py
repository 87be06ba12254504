"""``torch.fx.passes.dialect.common``."""
