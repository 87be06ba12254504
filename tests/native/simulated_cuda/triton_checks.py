"""Launches through the dispatcher and through stock Triton, over a driver that records them: they are the same, byte by byte."""

import ctypes
import os
import subprocess
import sys
import tempfile

from compat import enable_torch_proxy
from shim_torch_proxy.adapters.triton.dispatch import launches as counted

enable_torch_proxy()
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton import knobs  # noqa: E402
from triton.backends.nvidia import driver as nvidia  # noqa: E402
from triton.runtime import driver, jit  # noqa: E402

from shim_torch_proxy.adapters.triton import cuda_driver  # noqa: E402

STOCK = jit.JITFunction.run
DRIVER = ctypes.CDLL(os.environ["TRITON_LIBCUDA_PATH"] + "/libcuda.so.1")
DRIVER.recorded_launches.restype = ctypes.c_char_p
SCALE = tl.constexpr(3)
OTHER = tl.constexpr(4)


@triton.jit
def mixed(x, y, n, m, flag, ratio, BLOCK: tl.constexpr, KIND: tl.constexpr = "plain", extra=None):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0).to(tl.float32) * ratio
    if flag:
        v += m * SCALE
    if KIND == "plain":
        v += 1
    if extra is not None:
        v += tl.load(extra)
    tl.store(y + at, v, mask=at < n)


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["x"])
def annotated(x, n, k: tl.int64, b: tl.float64, TYPE: tl.constexpr):
    tl.store(x, (n + k + b).to(TYPE))


@triton.jit
def uses_global(x, n):
    tl.store(x, n + OTHER)


def launches():
    """What was launched since."""
    return DRIVER.recorded_launches().decode().splitlines()


def watch(kernel):
    """From here on the parameters of this kernel are recorded."""
    sizes = {"*": 8, "i64": 8, "u64": 8, "fp64": 8, "i32": 4, "u32": 4, "fp32": 4, "i16": 2, "u1": 1, "i1": 1, "i8": 1}
    kinds = [k for k in kernel.src.signature.values() if k != "constexpr"]
    found = [sizes["*" if k[0] == "*" else k] for k in kinds]
    DRIVER.recorded_parameters(len(found), (ctypes.c_int * len(found))(*found))


def compare(fn, grid, args, options):
    DRIVER.recorded_parameters(0, None)
    kernel = STOCK(fn, *args, grid=grid, warmup=False, **options)
    watch(kernel)
    held = "_run" if "_run" in vars(kernel) else "run"
    ours = vars(kernel)[held]
    assert type(ours) is cuda_driver.Launcher
    setattr(kernel, held, nvidia.CudaLauncher(kernel.src, kernel.metadata))
    launches()
    STOCK(fn, *args, grid=grid, warmup=False, **options)
    want = launches()
    setattr(kernel, held, ours)
    STOCK(fn, *args, grid=grid, warmup=False, **options)
    assert launches() == want, "by the first launch's launcher"
    for _ in range(2):
        assert fn[grid](*args, **options) is kernel
        got = launches()
        assert got == want, f"{args} {options}: {got} instead of {want}"
    assert fn.run(*args, grid=grid, warmup=False, **options) is kernel
    assert launches() == want


def parity():
    base = torch.zeros(256, device="cuda")
    half = torch.empty(256, dtype=torch.float16, device="cuda")
    tensors = [base, base[1:], base[4:], half, torch.nn.Parameter(base)]
    grids = [
        (3,),
        (2, 5),
        [1, 2, 3],
        lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]) if 0 < meta["n"] < 4096 else 2,),
    ]
    ints = [1, 2, 16, 17, 0, -5, 2**31 - 1, 2**31, 2**33, -(2**40), True]
    before = counted()
    calls = 0
    for i, n in enumerate(ints):
        for j, x in enumerate(tensors):
            for flag in (True, False):
                args = (x, base, n, ints[(i + j) % len(ints)], flag, 0.5 + i)
                extra = base if (i + j) % 3 == 0 else None
                options = [{}, {"num_warps": 8}, {"KIND": "other", "num_stages": 2}][(i + j + flag) % 3]
                compare(mixed, grids[(i + j + flag) % 4], args, {"BLOCK": 64 << i % 2, "extra": extra, **options})
                calls += 1
    for n in ints:
        for k in (1, 7, 16, 2**35):
            for x in (base, base[1:]):
                compare(annotated, (2,), (x, n, k, 1.5, tl.float32), {})
                compare(annotated, (2,), (x, n), {"k": k, "b": 2, "TYPE": tl.float16})
                calls += 2
    after = counted()
    # Of a comparison's three launches at most the first is stock Triton's.
    assert after["fast"] - before["fast"] >= 2 * calls, (before, after, calls)
    print("ok", calls, after)


def stays_stock():
    """What the dispatcher must notice between two launches of the same kernel."""
    x = torch.zeros(64, device="cuda")
    for _ in range(3):  # the first makes the driver, and is remembered
        uses_global[(1,)](x, 5)
    fast = counted()["fast"]
    assert fast == 2, counted()

    def stock(times=1):
        nonlocal fast
        for _ in range(times):
            uses_global[(1,)](x, 5)
        assert counted()["fast"] == fast, counted()

    global OTHER
    kept, OTHER = OTHER, tl.constexpr(9)
    try:
        stock()
        raise SystemExit("a changed global went unseen")
    except RuntimeError as error:
        assert "has changed since we compiled this kernel" in str(error)
    OTHER = kept
    seen = []
    if hasattr(knobs.runtime.launch_enter_hook, "add"):
        knobs.runtime.launch_enter_hook.add(seen.append)
        stock()
        knobs.runtime.launch_enter_hook.remove(seen.append)
    else:
        knobs.runtime.launch_enter_hook = seen.append
        stock()
        knobs.runtime.launch_enter_hook = None
        del knobs.runtime.launch_enter_hook
    assert len(seen) == 1
    uses_global.add_pre_run_hook(lambda *args, **kwargs: seen.append(args))
    stock()
    assert len(seen) == 2
    uses_global.pre_run_hooks.clear()
    uses_global[(1,)](x, 5)
    assert counted()["fast"] == fast + 1
    fast += 1
    uses_global.device_caches.clear()
    stock()  # compiled again
    for wrong in ((x.cpu(), 5), (x, 5, 6), (x,)):
        try:
            uses_global[(1,)](*wrong)
        except (ValueError, TypeError):
            continue
        raise SystemExit(f"{len(wrong)} arguments were launched")
    uses_global[(0,)](x, 5)
    DRIVER.recorded_launches()
    uses_global[(0,)](x, 5)
    assert not launches()
    assert uses_global.warmup(x, 5, grid=(1,)) is not None
    assert uses_global.run(x, 5, grid=(1,), warmup=True) is not None and not launches()
    try:
        uses_global[lambda meta: 1 / 0](x, 5)
    except ZeroDivisionError:
        print("ok")


def tuned():
    configs = [triton.Config({"BLOCK": 64}, num_warps=w) for w in (2, 4)]

    @triton.autotune(configs=configs, key=["n"])
    @triton.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})
    @triton.jit
    def scaled(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2.0, mask=at < n)

    x = torch.zeros(256, device="cuda")
    scaled.cache = {}
    for n in (256, 100, 256, 100):
        scaled[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, n)
    before = counted()
    scaled[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, 256)
    assert counted()["fast"] == before["fast"] + 1, (before, counted())
    assert launches()
    print("ok")


def no_compiler():
    """With an empty cache and no C compiler, kernels are launched; what is stock's alone asks for one."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(CC="/bin/false", TRITON_CACHE_DIR=folder)
        x = torch.zeros(256, device="cuda")
        for n in (256, 100):
            mixed[(2,)](x, x, n, 3, True, 0.5, BLOCK=64)
            uses_global[(1,)](x, n)
        assert len(launches()) == 4
        utils, seen = driver.active.utils, []
        assert utils.get_device_properties(0) == dict.fromkeys(cuda_driver.PROPERTIES, 132)
        kernel = uses_global.warmup(x, 5, grid=(1,))
        call = (3, 1, 1, 0, kernel.function, kernel.packed_metadata, "told", seen.append, seen.append, x, 5)
        cuda_driver.launchers(None)(kernel.src, kernel.metadata)(*call)
        assert seen == ["told", "told"] and len(launches()) == 1
        for wrong, error in ((x.cpu(), ValueError), (object(), TypeError), ("x", TypeError)):
            try:
                cuda_driver.launchers(None)(kernel.src, kernel.metadata)(*call[:-2], wrong, 5)
                raise SystemExit(f"{wrong} was launched")
            except error as e:
                assert "Pointer argument" in str(e), e
        assert not launches()
        try:
            utils.load_binary("nothing", b"", 0, 0)
            raise SystemExit("an empty module was loaded")
        except RuntimeError as e:
            assert "Triton Error [CUDA]" in str(e), e
        try:
            utils.set_printf_fifo_size(1 << 20)
            raise SystemExit("there was a compiler")
        except (RuntimeError, subprocess.CalledProcessError):
            print("ok")


class ArrayOfCupy:
    """What a launch sees of a ``cupy.ndarray``: memory of a GPU by DLPack, and no ``data_ptr``."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


ArrayOfCupy.__module__, ArrayOfCupy.__name__ = "cupy", "ndarray"


def arrays():
    """The first launch of a process makes Triton's driver: it takes arrays as later ones do."""
    x = torch.zeros(64, device="cuda")
    kernel = uses_global[(1,)](ArrayOfCupy(x), 5)
    assert len(launches()) == 1 and counted()["fast"] == 0
    watch(kernel)
    uses_global[(1,)](x, 5)
    want = launches()
    for _ in range(2):
        assert uses_global[(1,)](ArrayOfCupy(x), 5) is kernel
        assert launches() == want
    try:
        uses_global[(1,)](ArrayOfCupy(x.cpu()), 5)
    except TypeError as error:
        assert "got a cupy.ndarray in the memory of the host for argument 0" in str(error), error
        print("ok")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
