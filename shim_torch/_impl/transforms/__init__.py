"""Function transforms and modes: batching, functionalization, fake tensors, __torch_dispatch__."""
