#pragma once
// What convolutions and pools on the CPU take of their arguments: the settings of windows, and images seen as others.
#include <algorithm>

#include "cpu/convolution.h"
#include "ops/kernel.h"

namespace shim {

constexpr NotMine kChannelsLastOrNoFloats{
    "channels_last tensors, or dtypes other than real floats of two bytes or more"},
    kUnlikeDTypes{"dtypes that differ"}, kUnsuitedWindows{"settings or sizes that no window suits"};

// Real floats of two bytes or more in no other order than their dims'. (A result in channels last is the bodies' work.)
inline bool pooled_floats(const Tensor& t) { return is_floating(t->dtype()) && t->itemsize() > 1; }
inline bool floats_in_order(const Tensor& t) {
  return pooled_floats(t) && suggest_memory_format(*t) == MemoryFormat::contiguous;
}
// Those, or images in channels last: kernels that take planes one after the other give their results in that order by `in_format_of`.
inline bool floats_of_planes(const Tensor& t) { return floats_in_order(t) || (pooled_floats(t) && t->dim() == 4); }
// (batch, channels, height, width) in channels last: each place is a line of channels. (What lies in both orders is contiguous.)
inline bool lies_in_lines(const TensorImpl& t) {
  return t.dim() == 4 && !t.is_contiguous() && suggest_memory_format(t) == MemoryFormat::channels_last &&
         t.is_contiguous(MemoryFormat::channels_last);
}
inline Tensor in_format_of(const Tensor& x, const Tensor& result) {
  if (result->dim() != 4 || suggest_memory_format(*x) != MemoryFormat::channels_last) return result;
  return clone(result, MemoryFormat::channels_last);
}
inline bool floats_in_order(const OptionalTensor& t) { return !t || floats_in_order(*t); }
inline bool wide_float(const Tensor& t) { return t->dtype() == DType::f32 || t->dtype() == DType::f64; }

inline Tensor contiguous_of(const Tensor& t, DType dtype) {  // contiguous; null where t is
  return !t ? t : t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype));
}
// Images in channels last, of a dtype; null where they lie otherwise.
inline Tensor in_lines(const Tensor& x, DType dtype) {
  if (!lies_in_lines(*x)) return {};
  Tensor images = of_dtype(x, dtype);
  return lies_in_lines(*images) ? images : Tensor{};
}

// One or `n` numbers as those of height and width; of one dim, the height's is `missing`. False: others, or one below `least`.
inline bool pair_of(IntArrayRef dims, int n, int64_t least, int64_t missing, int64_t (&out)[2]) {
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  out[0] = n == 1 ? missing : dims[0];
  out[1] = dims.back();
  return out[0] >= least && out[1] >= least && std::max(out[0], out[1]) < (int64_t(1) << 30);
}

// One or `n` numbers as those of depth, height and width; of the first dims, those that are not there, `missing`.
inline bool triple_of(IntArrayRef dims, int n, int64_t least, int64_t missing, int64_t (&out)[3]) {
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  for (int i = 0; i < 3; ++i) {
    const int own = i - (3 - n);
    out[i] = own < 0 ? missing : dims.size() == 1 ? dims[0] : dims[size_t(own)];
    if (out[i] < least || out[i] >= (int64_t(1) << 30)) return false;
  }
  return true;
}

}  // namespace shim
