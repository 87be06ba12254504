"""``torch.onnx._internal.torchscript_exporter``: the exporter's settings."""
