"""``torch.fx.passes.dialect``."""
