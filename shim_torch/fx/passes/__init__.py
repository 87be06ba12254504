"""``torch.fx.passes``: passes over graphs, which are not built here."""
