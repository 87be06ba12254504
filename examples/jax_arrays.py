"""JAX's arrays: a Triton kernel, a Liger operator and the fused linear on them without copies, and within ``jax.jit``.

A kernel takes a ``jax.Array`` as it is. Functions of tensors get ``torch.from_dlpack(array)`` and give back
``jax.dlpack.from_dlpack(tensor)``: one memory. JAX takes arrays for constant, so let kernels write only into arrays that
nothing else has used. Traced code has no memory yet: there ``jax.pure_callback`` calls with arrays (in the memory of the
host), and ``jax.custom_vjp`` gives the gradient. Runs on the CPU (Triton's interpreter) or a GPU.
"""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the GPU's memory is shared with others

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__", "liger_kernel"})

import jax
import jax.numpy as jnp
import numpy as np
import torch
import triton
import triton.language as tl
from liger_kernel.transformers import functional as liger

from shim_torch_linear import fused_linear

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def triton_kernel() -> None:
    """An unmodified launch with jax.Array for each pointer."""
    x, y, out = jnp.arange(1000.0), jnp.ones(1000), jnp.zeros(1000)
    add_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)
    np.testing.assert_array_equal(np.asarray(out), np.arange(1000) + 1)
    print(f"Triton: wrote {type(out).__name__} of {out.shape} on {next(iter(out.devices()))}")


def liger_operator() -> None:
    """Liger's RMS norm and its gradient, on the memory of JAX's arrays."""
    rows, weight = jax.random.normal(jax.random.key(0), (16, 96)), jnp.full(96, 2.0)
    x, w = torch.from_dlpack(rows), torch.from_dlpack(weight)
    assert x.data_ptr() == rows.unsafe_buffer_pointer()
    x.requires_grad_()
    out = liger.liger_rms_norm(x, w, 1e-6, 0.0, "llama", False)
    out.sum().backward()
    norm = lambda a: (a / jnp.sqrt((a * a).mean(-1, keepdims=True) + 1e-6) * weight).sum()
    result, gradient = (jax.dlpack.from_dlpack(t.detach()) for t in (out, x.grad))
    assert result.unsafe_buffer_pointer() == out.data_ptr()
    assert jnp.allclose(result.sum(), norm(rows), rtol=1e-4) and jnp.allclose(gradient, jax.grad(norm)(rows), atol=1e-4)
    print(f"Liger: {result.shape} in the memory of its tensor; result and gradient as JAX's own")


def tensors(*arrays) -> list[torch.Tensor]:
    """What a callback got, on our device: JAX's arrays or NumPy's."""
    return [(torch.from_dlpack(a) if isinstance(a, jax.Array) else torch.as_tensor(a)).to(DEVICE) for a in arrays]


def forward(x, w, b) -> np.ndarray:
    """relu(x · wᵀ + b) as one operator; outside of tracing."""
    return fused_linear(*tensors(x, w, b), "relu").cpu().numpy()


def backward(x, w, b, g) -> tuple[np.ndarray, ...]:
    """The gradients by x, w and b."""
    *leaves, g = tensors(x, w, b, g)
    y = fused_linear(*(leaf.requires_grad_() for leaf in leaves), "relu")
    return tuple(t.cpu().numpy() for t in torch.autograd.grad(y, leaves, g))


@jax.custom_vjp
def layer(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """The fused linear as a function of JAX: x (N, K), w (M, K), b (M,) to (N, M); traced and differentiated."""
    shape = jax.ShapeDtypeStruct((x.shape[0], w.shape[0]), x.dtype)
    return jax.pure_callback(forward, shape, x, w, b)


def _saved(x, w, b):
    return layer(x, w, b), (x, w, b)


def _gradients(saved, g):
    return jax.pure_callback(backward, tuple(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in saved), *saved, g)


layer.defvjp(_saved, _gradients)


def fused_layer() -> None:
    """The fused linear on arrays without copies, then in jax.jit with jax.grad."""
    x, w, b = (jax.random.normal(jax.random.key(i), shape) for i, shape in enumerate(((16, 8), (32, 8), (32,))))
    plain = lambda x, w, b: jax.nn.relu(x @ w.T + b)
    y = jax.dlpack.from_dlpack(fused_linear(*map(torch.from_dlpack, (x, w, b)), "relu"))
    assert jnp.allclose(y, plain(x, w, b), atol=1e-2 if DEVICE.type == "cuda" else 1e-5)  # JAX multiplies in TF32 there
    loss = lambda function: lambda *a: (function(*a) ** 2).sum()
    with jax.default_matmul_precision("highest"):
        value, found = jax.jit(jax.value_and_grad(loss(layer), (0, 1, 2)))(x, w, b)
        expected, wanted = jax.value_and_grad(loss(plain), (0, 1, 2))(x, w, b)
    assert jnp.allclose(value, expected, rtol=1e-4)
    for name, ours, theirs in zip(("x", "w", "b"), found, wanted):
        assert jnp.allclose(ours, theirs, rtol=1e-3, atol=1e-3)
        print(f"fused linear in jax.jit: gradient by {name} {ours.shape}, as JAX's own")


def main() -> None:
    """Runs the three."""
    triton_kernel()
    liger_operator()
    fused_layer()


if __name__ == "__main__":
    main()
