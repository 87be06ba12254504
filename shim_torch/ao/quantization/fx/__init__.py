"""``torch.ao.quantization.fx``: of it, the operators of quantization in plain tensors (``_decomposed``)."""
