"""CuPy's arrays on a GPU: a Triton kernel, a Liger operator and the fused linear on them without copies.

A kernel takes a ``cupy.ndarray`` as it is, on CuPy's current stream, which is ours as well. Functions of tensors get
``torch.from_dlpack(array)``, and ``cupy.from_dlpack(tensor)`` is an array over a tensor's memory. Without a GPU the same kernel
takes ``numpy.ndarray`` in Triton's interpreter.
"""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__", "liger_kernel"})

import numpy as np
import torch
import triton
import triton.language as tl
from liger_kernel.transformers import functional as liger

from shim_torch_linear import fused_linear

if torch.cuda.is_available():
    import cupy as xp
else:
    xp = np


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def address(array) -> int:
    """Where an array's memory starts."""
    return array.ctypes.data if xp is np else array.data.ptr


def triton_kernel() -> None:
    """An unmodified launch with an array for each pointer; on a GPU also on a stream of CuPy's."""
    n = 1000
    x, y, out = xp.arange(n, dtype=xp.float32), xp.ones(n, dtype=xp.float32), xp.zeros(n, dtype=xp.float32)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    add_kernel[grid](x, y, out, n, BLOCK=256)
    assert bool((out == x + 1).all())
    if xp is not np:
        with xp.cuda.Stream():
            x += 1
            add_kernel[grid](x, y, out, n, BLOCK=256)
            assert bool((out == x + 1).all())
    print(f"Triton: wrote {type(out).__module__}.ndarray of {out.shape}")


def liger_operator() -> None:
    """Liger's RMS norm and its gradient, on the memory of arrays."""
    rows, weight = xp.random.rand(16, 96).astype(xp.float32), xp.full(96, 2, dtype=xp.float32)
    x, w = torch.from_dlpack(rows), torch.from_dlpack(weight)
    assert x.data_ptr() == address(rows)
    x.requires_grad_()
    out = liger.liger_rms_norm(x, w, 1e-6, 0.0, "llama", False)
    out.sum().backward()
    result, gradient = (xp.from_dlpack(t.detach()) for t in (out, x.grad))
    assert address(result) == out.data_ptr()
    root = xp.sqrt((rows * rows).mean(-1, keepdims=True) + 1e-6)
    assert xp.allclose(result, rows / root * weight, rtol=1e-4)
    wanted = weight / root - rows * (rows * weight).mean(-1, keepdims=True) / root**3
    assert xp.allclose(gradient, wanted, atol=1e-4)
    print(f"Liger: {result.shape} in the memory of its tensor; result and gradient as computed with arrays")


def fused_layer() -> None:
    """relu(x · wᵀ + b) in one operator, and its gradients."""
    arrays = [xp.random.standard_normal(shape).astype(xp.float32) for shape in ((16, 8), (32, 8), (32,))]
    x, w, b = (torch.from_dlpack(a).requires_grad_() for a in arrays)
    y = fused_linear(x, w, b, "relu")
    y.sum().backward()
    rows, weight, bias = arrays
    z = rows @ weight.T + bias
    assert xp.allclose(xp.from_dlpack(y.detach()), xp.maximum(z, 0), atol=1e-4)
    dz = (z > 0).astype(xp.float32)
    for name, leaf, wanted in (("x", x, dz @ weight), ("w", w, dz.T @ rows), ("b", b, dz.sum(0))):
        assert xp.allclose(xp.from_dlpack(leaf.grad), wanted, atol=1e-3)
        print(f"fused linear: gradient by {name} {wanted.shape}, as computed with arrays")


def main() -> None:
    """Runs the three."""
    triton_kernel()
    liger_operator()
    fused_layer()


if __name__ == "__main__":
    main()
