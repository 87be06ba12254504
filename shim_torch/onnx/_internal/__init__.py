"""``torch.onnx._internal``: what libraries read of the exporter's state."""
