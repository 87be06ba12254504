"""``torch.ao.nn.intrinsic.quantized``."""
