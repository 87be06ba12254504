"""Functions of ``torch`` that are not operators: tensors from data, questions, settings."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.arguments import need_bool, need_tensor, type_name
from shim_torch._impl.table.calls import aten
from shim_torch._impl.tensor.uninitialized import settings as _uninitialized

Tensor = _core.Tensor
_overridden = _core._has_torch_function_unary
__all__ = [
    "_assert_async", "are_deterministic_algorithms_enabled", "cdist", "compiled_with_cxx11_abi", "conj",
    "get_default_device", "get_deterministic_debug_mode", "get_float32_matmul_precision", "imag",
    "is_deterministic_algorithms_warn_only_enabled", "nonzero", "numel", "real", "resolve_conj", "resolve_neg",
    "result_type", "set_default_device", "set_default_tensor_type", "set_deterministic_debug_mode",
    "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "use_deterministic_algorithms",
    "get_num_interop_threads", "_debug_has_internal_overlap",
]  # fmt: skip


def numel(input: Any) -> int:
    """The number of elements."""
    if _overridden(input):
        return _core._handle_torch_function(numel, (input,), input)
    need_tensor(input, "numel")
    return input.numel()


def real(input: Any) -> Any:
    """The real part, a view."""
    if _overridden(input):
        return _core._handle_torch_function(real, (input,), input)
    need_tensor(input, "real")
    return input.real


def imag(input: Any) -> Any:
    """The imaginary part, a view."""
    if _overridden(input):
        return _core._handle_torch_function(imag, (input,), input)
    need_tensor(input, "imag")
    return input.imag


def conj(input: Any) -> Any:
    """The complex conjugate."""
    if _overridden(input):
        return _core._handle_torch_function(conj, (input,), input)
    need_tensor(input, "conj")
    return input.conj()


def resolve_conj(input: Any) -> Any:
    """The tensor itself, or a copy of its values where its conjugate bit is set."""
    if _overridden(input):
        return _core._handle_torch_function(resolve_conj, (input,), input)
    need_tensor(input, "resolve_conj")
    return input.resolve_conj()


def resolve_neg(input: Any) -> Any:
    """The tensor itself, or a copy of its values where its negative bit is set."""
    if _overridden(input):
        return _core._handle_torch_function(resolve_neg, (input,), input)
    need_tensor(input, "resolve_neg")
    return input.resolve_neg()


def result_type(tensor: Any, other: Any) -> Any:
    """The dtype in which two tensors or numbers meet. Errors: TypeError for anything else."""
    tensor, other = (v.item() if type(v).__module__ == "numpy" and v.ndim == 0 else v for v in (tensor, other))
    for value in (tensor, other):
        if not isinstance(value, (_core.TensorBase, bool, int, float, complex)):
            raise TypeError(
                "result_type() received an invalid combination of arguments - got "
                f"({type_name(tensor)}, {type_name(other)}), but expected one of:\n * (Tensor tensor, Tensor other)\n"
                " * (Number scalar, Tensor tensor)\n * (Tensor tensor, Number other)\n * (Number scalar1, Number scalar2)\n"
            )
    return _core.result_type(tensor, other)


def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """Indices of the nonzero elements."""
    if _overridden(input):
        named = {k: v for k, v in (("out", out), ("as_tuple", as_tuple)) if v is not None and v is not False}
        return _core._handle_torch_function(nonzero, (input,), input, **named)
    need_tensor(input, "nonzero")
    from shim_torch._impl.records.index.masking import nonzero_function

    return nonzero_function(input, out=out, as_tuple=as_tuple)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """Distances between all rows of two batches: (*, P, M), (*, R, M) -> (*, P, R)."""
    if _core._has_torch_function_variadic(x1, x2):
        return _core._handle_torch_function(cdist, (x1, x2), x1, x2, p=p, compute_mode=compute_mode)
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    need_tensor(x1, "cdist", "x1")
    need_tensor(x2, "cdist", "x2", 2)
    return aten.cdist(x1, x2, p, modes[compute_mode])


# --- settings -----------------------------------------------------------------------------------------------------------------

_settings: dict[str, Any] = {"deterministic": 0}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Operators here are deterministic but for float atomics of Triton kernels and attention's gradients on Hopper GPUs; the flag is
    kept and readable, and those gradients then come of kernels that add in one order.
    """
    need_bool(mode, "_set_deterministic_algorithms", "mode")
    need_bool(warn_only, "_set_deterministic_algorithms", "warn_only", None)
    _settings["deterministic"] = (1 if warn_only else 2) if mode else 0
    _settings["warn_only"] = warn_only
    _core.gemm_flag("deterministic", mode)
    _uninitialized.set_deterministic(mode)


def alert_not_deterministic(name: str) -> None:
    """What PyTorch says of operators whose results it does not promise to repeat, where repeatable ones were asked for."""
    level = _settings["deterministic"]
    if not level:
        return
    report = (
        "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
        "this operation."
    )
    if level == 1:
        import warnings

        warnings.warn(
            f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, "
            f"warn_only=True)'. You can {report}",
            stacklevel=3,
        )
        return
    raise RuntimeError(
        f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can "
        "turn off determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable for "
        f"your application. You can also {report}"
    )


def are_deterministic_algorithms_enabled() -> bool:
    """Whether operators whose results may differ from run to run raise or warn."""
    return _settings["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether such operators only warn."""
    return bool(_settings.get("warn_only", False))


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """What such operators do: run (0, "default"), warn (1, "warn") or raise (2, "error"); RuntimeError for others."""
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in names:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    mode = names[debug_mode] if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0: such operators run; 1: they warn; 2: they raise."""
    return _settings["deterministic"]


def set_float32_matmul_precision(precision: str) -> None:
    """highest, high or medium; "high" allows TF32 in CUDA products."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"Cannot access attribute: float32_matmul_precision must be one of highest, high, medium, got {precision}"
        )
    from shim_torch._impl.backends import precision as _precision

    _precision.set_matmul_precision(precision)


def get_float32_matmul_precision() -> str:
    """What was set last. RuntimeError where ``fp32_precision`` of ``torch.backends`` says something else."""
    from shim_torch._impl.backends import precision as _precision

    return _precision.matmul_precision()


_process_device: Any = None


def set_default_device(device: Any) -> None:
    """Where factories put new tensors."""
    global _process_device
    _process_device = None if device is None else device if isinstance(device, _core.device) else _core.device(device)
    _core.set_default_device(_process_device)


def get_default_device() -> Any:
    """Where factories put new tensors."""
    return _core.get_default_device()


def set_default_tensor_type(t: Any) -> None:
    """Deprecated: sets the default dtype (and device) from a tensor type or its name."""
    from shim_torch._impl.surface.warnings import warn_once
    from shim_torch._impl.tensor.legacy_types import TENSORS, tensortype

    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module not in ("torch", "torch.cuda") or name not in TENSORS:
            raise ValueError(f"invalid type: {t!r}")
        dtype, cuda = TENSORS[name], module == "torch.cuda"
    elif isinstance(t, tensortype):
        dtype, cuda = t.dtype, t.is_cuda
    else:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _core.set_default_dtype(dtype)
    if cuda or _settings.pop("device_of_type", None):
        set_default_device("cuda" if cuda else None)
        _settings["device_of_type"] = cuda


def set_flush_denormal(mode: bool) -> bool:
    """Not supported: False, as on processors that can't. RuntimeError for what is no bool."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def get_num_interop_threads() -> int:
    """1: operators run one after the other."""
    return 1


def set_num_interop_threads(n: int) -> None:
    """One thread runs operators; kept for programs that set it. RuntimeError for what is no positive int of 32 bits."""
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def compiled_with_cxx11_abi() -> bool:
    """True: strings of the C++ library have their newer form."""
    return True


def _assert_async(input: Any, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """RuntimeError if a one-element tensor is false."""
    if not bool(input):
        raise RuntimeError(message)


def _debug_has_internal_overlap(input: Any) -> int:
    """0: no element stands twice in memory; 1: some do; 2: not known."""
    dims = sorted((s, n) for s, n in zip(input.stride(), input.shape, strict=True) if n != 1)
    if input.is_contiguous():
        return 0
    if any(s == 0 for s, _ in dims):
        return 1
    if input.numel() == 0 or dims == _dense(dims):
        return 0
    return 2


def _dense(dims: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What the (stride, size) pairs, smallest stride first, are where nothing lies between the elements."""
    found, stride = [], 1
    for _, size in dims:
        found.append((stride, size))
        stride *= size
    return found


naming.present(globals(), "torch", elsewhere={"torch.functional": ["cdist"]})
