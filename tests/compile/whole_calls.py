"""What tests of calls whose Python does not run again share."""

from __future__ import annotations

import shim_torch as torch
import shim_torch_proxy


def whole_calls():
    return shim_torch_proxy.torch_proxy_status()["compile"].get("whole", 0)


def known(function, *args, fullgraph=False, **kwargs):
    """The function compiled and called until its calls are known, or as often."""
    compiled = torch.compile(function, fullgraph=fullgraph)
    for _ in range(4):
        compiled(*args, **kwargs)
    return compiled


def is_whole(compiled, *args, **kwargs):
    before = whole_calls()
    compiled(*args, **kwargs)
    return whole_calls() == before + 1


def same(compiled, function, *args, **kwargs):
    copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    torch.testing.assert_close(compiled(*args, **kwargs), function(*copies, **kwargs), rtol=0, atol=0)


def product_of_one_dim(x):
    """Here, where pytest leaves an assert as it is."""
    assert x.dim() == 1
    return x.mul(2)
