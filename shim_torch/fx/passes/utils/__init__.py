"""``torch.fx.passes.utils``: patterns looked for in graphs."""
