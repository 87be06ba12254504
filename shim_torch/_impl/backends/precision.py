"""What float32 is computed in, by backend and operator: the ``fp32_precision`` of ``torch.backends`` and its parts.

A part that says "none" follows its backend, and that one ``torch.backends.fp32_precision``. The kernels of ours that look at
it are the products and the convolutions on CUDA; oneDNN's settings are kept and readable.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_TAKES = {
    "generic": ("none", "ieee", "tf32", "bf16"),
    "cuda": ("none", "ieee", "tf32"),
    "mkldnn": ("none", "ieee", "tf32", "bf16"),
}
# The parts that were never set and that nothing above them says otherwise: cuDNN's take TF32.
_DEFAULT = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}
_set: dict[tuple[str, str], str] = {}
_legacy = {"matmul": "highest", "cudnn": True}  # set_float32_matmul_precision(), cudnn.allow_tf32

_MIXED = (
    "We suggest only using the new API {0}. See also: "
    "https://pytorch.org/docs/main/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices"
)


def read(backend: str, part: str) -> str:
    """The precision of a part ("conv", "rnn", "matmul", or "all" of the backend) as it holds now."""
    for place in ((backend, part), (backend, "all"), ("generic", "all")):
        found = _set.get(place, "none")
        if found != "none":
            return found if found in _TAKES[backend] else "none"
    return "none" if (backend, part) in _set else _DEFAULT.get((backend, part), "none")


def write(backend: str, part: str, precision: str) -> None:
    """Sets a part. RuntimeError for a word that is no precision, or not one of the backend's."""
    if precision not in _TAKES["generic"]:
        raise RuntimeError(f"Unknown precision: {precision}")
    if precision not in _TAKES[backend]:
        raise RuntimeError(f"backend '{backend}' does not support precision '{precision}'")
    _set[backend, part] = precision
    _tell_kernels()


def _tell_kernels() -> None:
    _core.gemm_flag("allow_tf32", read("cuda", "matmul") == "tf32")
    _core.cudnn_setting("allow_tf32", read("cuda", "conv") == "tf32")


def cudnn_allows_tf32() -> bool:
    """``torch.backends.cudnn.allow_tf32``. RuntimeError where convolutions and recurrent layers have come to differ."""
    kinds = {read("cuda", part) == "tf32" for part in ("conv", "rnn")}
    if kinds != {_legacy["cudnn"]}:
        raise RuntimeError(
            "PyTorch is checking whether allow_tf32 is enabled for cuDNN without a specific operator name,but the current "
            "flag(s) indicate that cuDNN conv and cuDNN RNN have different TF32 flags.This combination indicates that you have "
            "used a mix of the legacy and new APIs to set the TF32 flags. " + _MIXED.format("to set the TF32 flag(s)")
        )
    return bool(_legacy["cudnn"])


def set_cudnn_tf32(allow: bool) -> None:
    """Sets whether convolutions and recurrent layers of float32 may use TF32."""
    _legacy["cudnn"] = bool(allow)
    _set["cuda", "conv"] = _set["cuda", "rnn"] = "tf32" if allow else "none"
    _tell_kernels()


def matmul_allows_tf32() -> bool:
    """``torch.backends.cuda.matmul.allow_tf32``. RuntimeError where the two ways to set it say different things."""
    allows = _legacy["matmul"] != "highest"
    if allows != (read("cuda", "matmul") == "tf32"):
        raise RuntimeError(
            "PyTorch is checking whether allow_tf32_new is enabled for cuBlas matmul,Current status indicate that you have used "
            "mix of the legacy and new APIs to set the TF32 status for cublas matmul. "
            + _MIXED.format("to set the TF32 flag")
        )
    return allows


def set_matmul_tf32(allow: bool) -> None:
    """Sets whether matrix products of float32 may use TF32."""
    _legacy["matmul"] = "high" if allow else "highest"
    _set["cuda", "matmul"] = "tf32" if allow else "ieee"
    _tell_kernels()


def matmul_precision() -> str:
    """``torch.get_float32_matmul_precision()``."""
    cuda, onednn, legacy = read("cuda", "matmul"), read("mkldnn", "matmul"), _legacy["matmul"]
    if (
        (cuda == "tf32" and legacy == "highest")
        or (onednn == "bf16" and legacy != "medium")
        or (onednn == "tf32" and legacy != "high")
    ):
        raise RuntimeError(
            "PyTorch is checking the matmul precision without a specific backend name,Current status indicate that you have used "
            "mix of the legacy and new APIs to set the matmul precision. " + _MIXED.format("for matmul precision")
        )
    return str(legacy)


def set_matmul_precision(precision: str) -> None:
    """``torch.set_float32_matmul_precision()``: "highest", "high" or "medium"."""
    _legacy["matmul"] = precision
    _set["cuda", "matmul"] = "ieee" if precision == "highest" else "tf32"
    _set["mkldnn", "matmul"] = {"highest": "ieee", "high": "tf32", "medium": "bf16"}[precision]
    _tell_kernels()


class _FP32Precision:
    """``torch.backends.cudnn.conv`` and its like: an object with one setting, ``fp32_precision``."""

    def __init__(self, backend: str, part: str) -> None:
        self.__dict__.update(_backend=backend, _part=part)

    def __getattr__(self, name: str) -> Any:
        if name == "fp32_precision":
            return read(self._backend, self._part)
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "fp32_precision":
            raise AttributeError("Unknown attribute " + name)
        write(self._backend, self._part, value)
