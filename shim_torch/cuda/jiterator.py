"""``torch.cuda.jiterator``: element-wise CUDA functions compiled from text at run time (NVRTC, through CuPy)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import shim_torch
from shim_torch._impl.native import _core

__all__: list[str] = []

# template <typename T> RETURN NAME(PARAMETERS) { BODY }: the last function of the text is the kernel's.
_FUNCTION = re.compile(
    r"\s*template\s*(?P<template_params><.+>)\s*(?P<return_type>\w+)\s+(?P<function_name>\w+)\s*"
    r"(?P<function_params>\(.+\))\s*(?P<function_body>\{.+\})\s*",
    re.DOTALL,
)
_TYPES = (
    "bool:bool uint8:unsigned_char int8:signed_char int16:short int32:int int64:long_long float32:float float64:double "
    "complex64:complex<float> complex128:complex<double>"
)
_C_TYPES = {getattr(_core, n): t.replace("_", " ") for n, t in (pair.split(":", 1) for pair in _TYPES.split())}
_WIDER = {_core.float16: _core.float32, _core.bfloat16: _core.float32, _core.complex32: _core.complex64}
_MOST = 8  # inputs, outputs


@cache
def _kernel(code: str, name: str, by_reference: bool, inputs: int, outputs: int, scalars: int, c_type: str) -> Any:
    from shim_torch._impl.arrays import cupy_runtime

    pointers = [f"const {c_type}* a{i}" for i in range(inputs)] + [f"{c_type}* r{i}" for i in range(outputs)]
    parameters = ", ".join(["long long n", *pointers, *(f"{c_type} s{i}" for i in range(scalars))])
    values = [f"a{i}[k]" for i in range(inputs)] + [f"s{i}" for i in range(scalars)]
    call = f"{name}<{c_type}>({', '.join([*values, *(f'r{i}[k]' for i in range(outputs) if by_reference)])})"
    statement = f"{call};" if by_reference else f"r0[k] = {call};"
    functions = re.sub(r"(template\s*<[^>]*>)", r"\1 __device__", code)
    source = f"""#include <cupy/complex.cuh>
{functions}
extern "C" __global__ void elementwise({parameters}) {{
  for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < n; k += (long long)gridDim.x * blockDim.x) {{
    {statement}
  }}
}}"""
    return cupy_runtime.kernel(source, "elementwise", ("--std=c++17",))


class _JittedFunction:
    """A callable over CUDA tensors: broadcasts and promotes dtypes like an operator, records no gradients."""

    def __init__(self, code_string: str, return_by_ref: bool, num_outputs: int, **kwargs: Any) -> None:
        if not (return_by_ref or num_outputs == 1):
            raise AssertionError("Return by value only works for single output.")
        parsed = _FUNCTION.match(code_string)
        if parsed is None:
            raise Exception(f"Couldn't parse code, please check correctness:\n {code_string}")
        names = re.findall(r"template\s*<[^>]*>\s*\w+\s+(\w+)\s*\(", code_string)
        self.code_string, self.return_by_ref, self.num_outputs = code_string, return_by_ref, num_outputs
        self.kernel_name = names[-1] if names else parsed["function_name"]
        self.kwargs_dict = kwargs
        self.is_cuda_available = shim_torch.cuda.is_available()

    def __call__(self, *tensors: Any, **kwargs: Any) -> Any:
        if not self.is_cuda_available:
            raise AssertionError("Jiterator is only supported on CUDA and ROCm GPUs, none are available.")
        if len(tensors) > _MOST:
            raise AssertionError(f"jiterator only supports up to 8 tensor inputs, got {len(tensors)}")
        scalars = dict(self.kwargs_dict)
        for key, value in kwargs.items():
            if key not in scalars:
                raise KeyError(f"{key} is not declared in function definition")
            scalars[key] = value
        for tensor in tensors:
            if not tensor.is_cuda:
                raise RuntimeError(
                    "All input tensors must live in CUDA device: jiterator got one on " + str(tensor.device)
                )
        return self._launch(tensors, list(scalars.values()))

    def _launch(self, tensors: tuple[Any, ...], scalars: list[Any]) -> Any:
        from shim_torch._impl.arrays import of_type

        dtype = tensors[0].dtype
        for tensor in tensors[1:]:
            dtype = shim_torch.result_type(shim_torch.empty((1,), dtype=dtype), tensor) if tensor.dim() else dtype
        wide = _WIDER.get(dtype, dtype)
        if wide not in _C_TYPES:
            raise NotImplementedError(f"torch.cuda.jiterator: {dtype} is not supported by shim-torch")
        with shim_torch.no_grad(), shim_torch.cuda.device(tensors[0].device):
            operands = [t.to(wide).contiguous() for t in shim_torch.broadcast_tensors(*tensors)]
            outputs = [shim_torch.empty_like(operands[0]) for _ in range(self.num_outputs)]
            count = operands[0].numel()
            if count:
                backend = of_type("cuda")
                number = shim_torch.empty((), dtype=wide).numpy().dtype.type
                kernel = _kernel(
                    self.code_string,
                    self.kernel_name,
                    self.return_by_ref,
                    len(operands),
                    len(outputs),
                    len(scalars),
                    _C_TYPES[wide],
                )
                arrays = [backend.asarray(t) for t in (*operands, *outputs)]
                kernel((min((count + 255) // 256, 65535),), (256,), (count, *arrays, *(number(s) for s in scalars)))
            results = [o.to(dtype) for o in outputs]
        return results[0] if len(results) == 1 else tuple(results)


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Any]:
    """An element-wise operator of a C++ function template that returns its value.

    ``code_string`` is ``template <typename T> T name(T x, T y, T alpha) { ... }``; of several functions the last is the
    operator's. ``kwargs`` declare its scalar parameters with their defaults. Up to eight CUDA tensors; the result has
    their broadcast shape and promoted dtype. AssertionError without a GPU, when called.
    """
    return _JittedFunction(code_string, return_by_ref=False, num_outputs=1, **kwargs)


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable[..., Any]:
    """As :func:`_create_jit_fn`, of a function that returns ``void`` and writes ``num_outputs`` references given last."""
    return _JittedFunction(code_string, return_by_ref=True, num_outputs=num_outputs, **kwargs)
