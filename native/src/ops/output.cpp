#include "ops/output.h"

#include <algorithm>

#include "core/error.h"
#include "core/warning.h"
#include "ops/kernels.h"
#include "ops/out_dtype.h"

namespace shim {
namespace {

bool equal(IntArrayRef a, IntArrayRef b) { return std::ranges::equal(a, b); }

// The texts of operators that do not go through PyTorch's iterator.
void check_result_shape(const std::string& name, const TensorImpl& result, const TensorImpl& target) {
  if (equal(result.sizes(), target.sizes())) return;
  if (name == "addmm" || name == "addmv" || name == "baddbmm")
    fail(Kind::Runtime, "Bad in-place call: input tensor size ", bracketed(target.sizes()), " and output tensor size ",
        bracketed(result.sizes()), " should match");
  if (name == "addr" && result.dim() == 2) {
    CHECK(Kind::Runtime, target.dim() == 2, "2D tensor expected, got ", target.dim(), "D tensor for input");
    fail(Kind::Runtime, "size mismatch, input: ", bracketed(target.sizes()), ", v1: [", result.sizes()[0], "], v2: [",
        result.sizes()[1], "]");
  }
}

// A result in memory of its own and without gaps is written in its own order; any other in C order.
Dims strides_of_output(const Tensor& result, const TensorImpl& out, const Operator& f) {
  IntArrayRef sizes = result->sizes();
  const OutOrder order = f.traits->out_order;
  if (order == OutOrder::contiguous || (order == OutOrder::contiguous_when_resized && out.numel() != 0))
    return contiguous_strides(sizes);
  const bool own = result->storage()->nbytes() == size_t(result->numel()) * result->itemsize() && result->numel() > 0;
  if (!own) return contiguous_strides(sizes);
  Dims strides;
  for (int64_t s : result->strides()) strides.push_back(s);
  for (int64_t s : strides)
    if (s <= 0) return contiguous_strides(sizes);
  return strides;
}

void resize_output(const Tensor& out, IntArrayRef sizes, const Dims& strides, OutResize how) {
  if (equal(out->sizes(), sizes)) return;
  if (how == OutResize::rounded) {
    const int64_t n = product(sizes);
    std::string text = str("The number of elements in the out tensor of shape ", bracketed(out->sizes()), " is ",
        out->numel(), " which does not match the computed number of elements ", n,
        ". Note that this may occur as a result of rounding error. The out tensor will be resized to a tensor of shape "
        "(",
        n, ",).");
    if (out->numel() != 0) warn_user(text);
  } else if (out->numel() != 0 && how == OutResize::warned) {
    std::string text = str("An output with one or more elements was resized since it had shape ",
        bracketed(out->sizes()), ", which does not match the required output shape ", bracketed(sizes),
        ". This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have "
        "zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
        "t.resize_(0).");
    warn_user(text);
  }
  size_t bytes = storage_bytes(sizes, strides, out->itemsize()) + size_t(out->storage_offset()) * out->itemsize();
  if (out->storage()->nbytes() < bytes) out->storage()->resize(bytes);
  out->set_geometry(sizes, strides, out->storage_offset());
}

}  // namespace

void write_result(const Tensor& target, const Tensor& result) {
  if (!target->device().is_meta()) copy_(target, result);
  target->bump_version();
}

void check_inplace_result(const Operator& f, const TensorImpl& result, const TensorImpl& target) {
  check_result_shape(f.schema.name, result, target);
  CHECK(Kind::Runtime, equal(result.sizes(), target.sizes()), "output with shape ", bracketed(target.sizes()),
      " doesn't match the broadcast shape ", bracketed(result.sizes()));
  check_result_cast(f, result.dtype(), target.dtype());
}

OutResize resized_by(const Operator& f) {
  const OutResize how = f.traits->out_resize;
  if (how == OutResize::silent) return how;
  for (const Argument& a : f.schema.args)
    if (a.type.base == ArgType::Tensor) return OutResize::warned;
  return how == OutResize::rounded ? how : OutResize::silent;
}

void store_output(
    const Tensor& target, Tensor r, const Operator& f, const std::string& argument, OutResize how, bool any_dtype) {
  const bool meta = target->device().is_meta() || r->device().is_meta();
  CHECK(Kind::Runtime, !meta || target->device() == r->device(), "Attempting to copy from device ",
      to_string(r->device()), " to device ", to_string(target->device()), ", but cross-device copies are not allowed!");
  CHECK(Kind::Runtime, target->device() == r->device(), "Expected out tensor to have device ", to_string(r->device()),
      ", but got ", to_string(target->device()), " instead");
  if (meta && !any_dtype) check_meta_out_dtype(f, r->dtype(), target->dtype());
  if (f.traits->out_resize == OutResize::first)
    resize_output(target, r->sizes(), strides_of_output(r, *target, f), how);
  if (!any_dtype) check_out_dtype(f, r->dtype(), target->dtype());
  check_result_cast(f, r->dtype(), target->dtype(), argument);
  if (f.traits->any_out_shape && target->numel() == r->numel())
    r = as_strided(*r, target->sizes(), contiguous_strides(target->sizes()), r->storage_offset());
  resize_output(target, r->sizes(), strides_of_output(r, *target, f), how);
  write_result(target, r);
}

}  // namespace shim
