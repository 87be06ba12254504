"""Triton kernels for triton_compiled_checks.py: done by functions of NumPy over the simulated driver, or by a GPU."""

import ctypes
import os

import numpy as np

from compat import enable_torch_proxy

enable_torch_proxy()
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import shim_torch_proxy  # noqa: E402

SIMULATED = "TRITON_LIBCUDA_PATH" in os.environ
DRIVER = ctypes.CDLL(os.environ["TRITON_LIBCUDA_PATH"] + "/libcuda.so.1") if SIMULATED else None
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint), ctypes.POINTER(ctypes.c_void_p))
KINDS = {"*": ctypes.c_void_p, "i": ctypes.c_int, "f": ctypes.c_float}
kept = []
done = []  # names of kernels, in the order in which they were done


def simulated(kinds):
    """The function of NumPy does what the kernel of its name would: ``kinds`` are its parameters at run time."""

    def made(f):
        types = [KINDS[kind] for kind in kinds]
        name = f.__name__.removesuffix("_on_the_host")

        def run(grid, args):
            done.append(name)
            f(*(t.from_address(args[i]).value for i, t in enumerate(types)))

        if DRIVER is None:
            return f
        sizes = [ctypes.sizeof(t) for t in types]
        kept.append(CALLBACK(run))
        DRIVER.simulated_kernel(name.encode(), kept[-1], len(sizes), (ctypes.c_int * len(sizes))(*sizes))
        return f

    return made


def at(address, n, dtype=np.float32):
    """Memory as an array."""
    return np.ctypeslib.as_array((ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(address)).view(dtype)


@triton.jit
def scaled(x, y, out, n, s, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n) * s + tl.load(y + i, mask=i < n)
    tl.store(out + i, v, mask=i < n)


@simulated("***if")
def scaled_on_the_host(x, y, out, n, s):
    at(out, n)[:] = at(x, n) * np.float32(s) + at(y, n)


@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@simulated("*i")
def doubled_on_the_host(x, n):
    at(x, n)[:] *= 2


@triton.jit
def tripled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 3, mask=i < n)


@simulated("*i")
def tripled_on_the_host(x, n):
    at(x, n)[:] *= 3


@triton.jit
def by_number(address, n, BLOCK: tl.constexpr):
    x = address.to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@simulated("*i")
def by_number_on_the_host(address, n):
    at(address, n)[:] += 1


def combine(x, y, s=0.5):
    out = torch.empty_like(x)
    n = x.numel()
    scaled[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, s, BLOCK=64)
    return out


def double(x):
    doubled[(triton.cdiv(x.numel(), 64),)](x, x.numel(), BLOCK=64)
    return x


def status():
    return shim_torch_proxy.torch_proxy_status()["compile"]


def counted(f, arguments, *names):
    """What ``f`` gives for the arguments, and what the call adds to these counts."""
    before = status()
    result = f(*arguments)
    after = status()
    return result, tuple(after.get(name, 0) - before.get(name, 0) for name in names)


def some(*shape):
    return torch.randn(*shape).cuda()


def same(a, b):
    a, b = a.cpu().numpy(), b.cpu().numpy()
    assert a.tobytes() == b.tobytes(), (a, b)
