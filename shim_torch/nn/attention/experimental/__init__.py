"""``torch.nn.attention.experimental``."""
