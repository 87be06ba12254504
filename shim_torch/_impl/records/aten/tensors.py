"""Operators on a tensor's own state, questions about it, symbols, and draws like another tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.table.aten_declare import aten, ops, torch

# --- symbols ----------------------------------------------------------------------------------------------------------

for _name, _sign in (("and", "&"), ("or", "|"), ("xor", "^"), ("lshift", "<<"), ("rshift", ">>")):

    def _applied(name: str) -> Callable[..., Any]:
        def body(self: Any, other: Any) -> Any:
            return getattr(self, name)(other)

        return body

    if _name.endswith("shift"):
        aten(f"__{_name}__.Tensor", f"__{_name}__.Scalar", numbers="any")(_applied(f"__{_name}__"))
    aten(f"__i{_name}__.Tensor", f"__i{_name}__.Scalar")(_applied(f"__i{_name}__"))

# --- state ------------------------------------------------------------------------------------------------------------


@aten("set_")
def set_(self: Any) -> Any:
    return self.set_()


@aten("set_.source_Tensor")
def set_source_tensor(self, source):
    return self.set_(source)


@aten("set_.source_Tensor_storage_offset")
def set_source_tensor_offset(self, source, storage_offset, size, stride):
    return self.set_(source, storage_offset, size, stride)


@aten("set_.source_Storage")
def set_source_storage(self, source):
    return self.set_(source)


@aten("set_.source_Storage_storage_offset")
def set_source_storage_offset(self, source, storage_offset, size, stride):
    return self.set_(source, storage_offset, size, stride)


@aten("record_stream")
def record_stream(self, stream):
    self.record_stream(stream)


@aten("_efficientzerotensor", public=True)
def _efficientzerotensor(size, dtype, layout, device, pin_memory):
    return torch().zeros(size, dtype=dtype, device=device)


@aten("polygamma_")
def polygamma_(self, n):
    return self.copy_(torch().polygamma(n, self))


@aten("requires_grad_")
def requires_grad_(self, requires_grad):
    return self.requires_grad_(requires_grad)


@aten("data")
def data(self):
    return self.data


@aten("set_data")
def set_data(self, new_data):
    self.data = new_data


@aten("output_nr")
def output_nr(self):
    return self.output_nr


@aten("retain_grad")
def retain_grad(self):
    self.retain_grad()


@aten("_backward")
def _backward(self, inputs, gradient, retain_graph, create_graph):
    self.backward(gradient, retain_graph, create_graph, inputs=inputs)


@aten("pin_memory")
def pin_memory(self, device):
    return self.pin_memory() if device is None else self.pin_memory(device)


@aten("_resize_output_")
def _resize_output_(self, size, device):
    if self.device != device:
        raise RuntimeError(
            f"out Tensor doesn't have the correct device set expected device: {device}, got: {self.device}"
        )
    return self if tuple(self.shape) == tuple(size) else self.resize_(size)


@aten("_copy_from")
def _copy_from(self, dst, non_blocking):
    return dst.copy_(self, non_blocking)


@aten("_copy_from_and_resize")
def _copy_from_and_resize(self, dst):
    return (dst if dst.shape == self.shape else dst.resize_(self.shape)).copy_(self)


@aten("_to_cpu")
def _to_cpu(tensors):
    return [t.cpu() for t in tensors]


@aten("_reshape_alias_copy")
def _reshape_alias_copy(self, size, stride):
    return ops()._reshape_alias(self, size, stride).clone(memory_format=torch().contiguous_format)


@aten("_reshape_from_tensor")
def _reshape_from_tensor(self, shape):
    if shape.dim() != 1:
        raise RuntimeError("shape.dim() == 1 INTERNAL ASSERT FAILED: shape must be a 1-D tensor")
    return self.reshape(shape.tolist())


@aten("slice_inverse")
def slice_inverse(self, src, dim, start, end, step):
    return src.as_strided(src.shape, src.stride(), src.storage_offset())


@aten("_autocast_to_full_precision")
def _autocast_to_full_precision(self, cuda_enabled, cpu_enabled):
    on = cuda_enabled if self.is_cuda else cpu_enabled
    return self.to(torch().float32) if on and self.dtype in (torch().float16, torch().bfloat16) else self


@aten("_autocast_to_reduced_precision")
def _autocast_to_reduced_precision(self, cuda_enabled, cpu_enabled, cuda_dtype, cpu_dtype):
    on, dtype = (cuda_enabled, cuda_dtype) if self.is_cuda else (cpu_enabled, cpu_dtype)
    return self.to(dtype) if on and self.dtype is torch().float32 else self


@aten("_fw_primal")
def _fw_primal(self, level):
    return torch().autograd.forward_ad.unpack_dual(self, level=level).primal


@aten("_make_dual")
def _make_dual(primal, tangent, level):
    return torch().autograd.forward_ad.make_dual(primal, tangent, level=level)


@aten("_unpack_dual")
def _unpack_dual(dual, level):
    return tuple(torch().autograd.forward_ad.unpack_dual(dual, level=level))


# --- questions --------------------------------------------------------------------------------------------------------

aten("is_vulkan_available", "_nnpack_available")(lambda: False)
aten("_use_cudnn_rnn_flatten_weight", public=True)(lambda: torch().backends.cudnn.is_available())
aten("is_distributed", "cudnn_is_acceptable", "_is_zerotensor", public=True)(lambda self: False)
aten("_use_cudnn_ctc_loss", "_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor")(
    lambda log_probs, targets, input_lengths, target_lengths, blank: False
)


@aten("_has_same_storage_numel")
def _has_same_storage_numel(self, other):
    return self.untyped_storage().nbytes() // self.itemsize == other.untyped_storage().nbytes() // other.itemsize


@aten("sym_is_contiguous")
def sym_is_contiguous(self, memory_format):
    return self.is_contiguous(memory_format=memory_format)


@aten("_debug_has_internal_overlap", public=True)
def _debug_has_internal_overlap(self):
    """0: every element has memory of its own; 1: some share it; 2: not known without a search."""
    if self.is_contiguous():
        return 0
    if any(n > 1 and s == 0 for n, s in zip(self.shape, self.stride(), strict=True)):
        return 1
    reach = 1
    for n, s in sorted(zip(self.shape, self.stride(), strict=True), key=lambda pair: pair[1]):
        if n == 1:
            continue
        if s != reach:
            return 2
        reach *= n
    return 0


# The numbers of PyTorch's ScalarType, as which its operators (not its functions) return a dtype.
_NUMBERS = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool - - - bfloat16".split()
)
for _overload in ("Tensor", "Scalar", "Scalar_Tensor", "Scalar_Scalar"):
    aten(f"result_type.{_overload}", numbers="any")(
        lambda one, two: _NUMBERS.index(str(torch().result_type(one, two))[6:])
    )

# --- checks -----------------------------------------------------------------------------------------------------------


@aten("_assert_async.msg")
def _assert_async(self, message):
    if self.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no values' if not self.numel() else 'more than one value'} is ambiguous"
        )
    if not self.is_meta and not bool(self.item()):
        raise RuntimeError(message)


@aten("_functional_assert_async.msg")
def _functional_assert_async(self, message, dep_token):
    _assert_async(self, message)
    return dep_token.clone()


@aten("_assert_scalar")
def _assert_scalar(self, message):
    if not self:
        raise RuntimeError(message)


@aten("_functional_assert_scalar")
def _functional_assert_scalar(self, message, dep_token):
    _assert_scalar(self, message)
    return dep_token.clone()


@aten("sym_constrain_range", public=True)
def sym_constrain_range(size, min, max):
    """RuntimeError where a number is out of the range [min, max]; what is None is not looked at."""
    low = -(2**63) if min is None else min
    high = 2**63 - 1 if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


@aten("sym_constrain_range_for_size", public=True)
def sym_constrain_range_for_size(size, min, max):
    """The same of a size, which is not negative."""
    low = 0 if min is None else min
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, low, max)


@aten("_functional_sym_constrain_range")
def _functional_sym_constrain_range(size, min, max, dep_token):
    sym_constrain_range(size, min, max)
    return dep_token.clone()


@aten("_functional_sym_constrain_range_for_size")
def _functional_sym_constrain_range_for_size(size, min, max, dep_token):
    sym_constrain_range_for_size(size, min, max)
    return dep_token.clone()


@aten("_make_dep_token")
def _make_dep_token(dtype, layout, device, pin_memory, memory_format):
    return torch().empty((), dtype=dtype, device=device)


@aten("_print")
def _print(text):
    print(text)


@aten("_linalg_check_errors", public=True)
def _linalg_check_errors(info, api_name, is_matrix):
    """Raises what LAPACK's ``info`` says of the first matrix that failed; nothing where all are 0."""
    if info.is_meta or not bool(info.any()):
        return
    flat = info.reshape(-1).tolist()
    at = next(i for i, code in enumerate(flat) if code)
    where = "" if is_matrix else f"(Batch element {at}): "
    code = flat[at]
    if code < 0:
        raise RuntimeError(
            f"{api_name}: {where}Argument {-code} has illegal value. Most certainly there is a bug in the implementation calling the backend library."
        )
    error = torch().linalg.LinAlgError
    if "inv" in api_name:
        raise error(
            f"{api_name}: {where}The diagonal element {code} is zero, the inversion could not be completed because the input matrix is singular."
        )
    if "solve" in api_name:
        raise error(f"{api_name}: {where}The solver failed because the input matrix is singular.")
    if "cholesky" in api_name:
        raise error(
            f"{api_name}: {where}The factorization could not be completed because the input is not positive-definite (the leading minor of order {code} is not positive-definite)."
        )
    if "svd" in api_name:
        raise error(
            f"{api_name}: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: {code})."
        )
    if "eig" in api_name:
        raise error(
            f"{api_name}: {where}The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: {code})."
        )
    if "lstsq" in api_name:
        raise error(
            f"{api_name}: {where}The least squares solution could not be computed because the input matrix does not have full rank (error code: {code})."
        )
    if "lu_factor" in api_name:
        raise RuntimeError(
            f"{api_name}: {where}U[{code},{code}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    raise RuntimeError(f"{api_name}: Unknown error code: {code}.")


# --- draws and ranges -------------------------------------------------------------------------------------------------


def _made_as(x: Any, dtype: Any, device: Any, memory_format: Any) -> Any:
    return torch().empty_like(x, dtype=dtype, device=device, memory_format=memory_format or torch().preserve_format)


@aten("rand_like.generator")
def rand_like(self, generator, dtype, layout, device, pin_memory, memory_format):
    return _made_as(self, dtype, device, memory_format).uniform_(0, 1, generator=generator)


@aten("randn_like.generator")
def randn_like(self, generator, dtype, layout, device, pin_memory, memory_format):
    return _made_as(self, dtype, device, memory_format).normal_(0, 1, generator=generator)


@aten("randint_like.generator")
def randint_like(self, high, generator, dtype, layout, device, pin_memory, memory_format):
    return _made_as(self, dtype, device, memory_format).random_(0, int(high), generator=generator)


@aten("randint_like.Tensor")
def randint_like_tensor(self, high, dtype, layout, device, pin_memory, memory_format):
    return randint_like(self, int(high.item()), None, dtype, layout, device, pin_memory, memory_format)


@aten("randint_like.Tensor_generator")
def randint_like_tensor_generator(self, high, generator, dtype, layout, device, pin_memory, memory_format):
    return randint_like(self, int(high.item()), generator, dtype, layout, device, pin_memory, memory_format)


@aten("randint_like.low_generator_dtype")
def randint_like_low(self, low, high, generator, dtype, layout, device, pin_memory, memory_format):
    return _made_as(self, dtype, device, memory_format).random_(low, high, generator=generator)


@aten("normal_functional")
def normal_functional(self, mean, std, generator):
    return torch().empty_like(self).normal_(mean, std, generator=generator)


@aten("normal.out")
def normal_out(self, mean, std, generator, out):
    drawn = torch().empty_like(self).normal_(mean, std, generator=generator)
    return _resize_output_(out, drawn.shape, drawn.device).copy_(drawn)


@aten("range")
def range_(start, end, dtype, layout, device, pin_memory):
    return ops().range.step(start, end, 1, dtype=dtype, device=device)


@aten("_fused_dropout")
def _fused_dropout(self, p, generator):
    """p: the share that stays; the values scaled, and the mask of bytes."""
    mask = torch().empty_like(self).bernoulli_(p, generator=generator)
    return self * mask / p, mask.to(torch().uint8)


@aten("rrelu_with_noise_")
def rrelu_with_noise_(self, noise, lower, upper, training, generator):
    return self.copy_(rrelu_with_noise(self, noise, lower, upper, training, generator))


@aten("rrelu_with_noise")
def rrelu_with_noise(self, noise, lower, upper, training, generator):
    """Negative values times a draw of [lower, upper], which the noise keeps (1 for the others); the mean where not training."""
    if not training:
        return torch().nn.functional.leaky_relu(self, (float(lower) + float(upper)) / 2)
    drawn = torch().empty_like(self).uniform_(float(lower), float(upper), generator=generator)
    with torch().no_grad():
        noise.copy_(drawn.where(self <= 0, 1.0))
    return self * noise.clone()


@aten("_dim_arange", public=True)
def _dim_arange(like, dim):
    return torch().arange(like.shape[dim], dtype=torch().int64, device=like.device)
