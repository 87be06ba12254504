// What the operators of convolutions are given, as the kernels take it: lines and images as volumes, in the dtype that is computed in.
#include "cpu/kernel_table.h"
#include "cpu/window_settings.h"
#include "core/interpreter_lock.h"
#include "ops/gemm_problem.h"

namespace shim {
namespace {

constexpr NotMine kNoProducts{"no matrix products"};

// A line is an image of one row, an image a volume of one.
Tensor image_as_volume(const Tensor& t) {
  if (t->dim() == 5) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.begin() + 2, size_t(5 - t->dim()), 1);
  return view(*contiguous(t), sizes);
}
Tensor volume_as_image(const Tensor& t, int n) {
  if (n == 3) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.erase(sizes.begin() + 2, sizes.begin() + 5 - n);
  return view(*t, sizes);
}

constexpr NotMine kNoFloats{"dtypes other than real floats of two bytes or more"};
bool real_floats(const Tensor& t) { return is_floating(t->dtype()) && t->itemsize() > 1; }

// The order of a result: of an operand in channels last, where one is.
MemoryFormat followed(const Tensor& x, const Tensor& w) {
  const MemoryFormat format = suggest_memory_format(*x);
  return format == MemoryFormat::contiguous ? suggest_memory_format(*w) : format;
}
Tensor in_format(const Tensor& t, MemoryFormat format) {
  if (format == MemoryFormat::contiguous) return t;
  Tensor made = empty(t->sizes(), t->dtype(), Device{}, false, format);
  copy_(made, t);
  return made;
}

struct Steps {
  int64_t kernel[3], stride[3], padding[3], dilation[3];
  // False where the record has to say what is wrong with them.
  bool read(int n, IntArrayRef strides, IntArrayRef paddings, IntArrayRef dilations) {
    return triple_of(strides, n, 1, 1, stride) && triple_of(paddings, n, 0, 0, padding) &&
           triple_of(dilations, n, 1, 1, dilation);
  }
  Box box() const {
    return {{{kernel[1], kernel[2]}, {stride[1], stride[2]}, {padding[1], padding[2]}, {dilation[1], dilation[2]}},
        kernel[0], stride[0], padding[0], dilation[0]};
  }
};

// The sizes of a result along its dims; false where there are none.
bool result_sizes(
    const Tensor& image, const Steps& s, bool transposed, const int64_t (&extra)[3], int64_t (&sizes)[3]) {
  for (int i = 0; i < 3; ++i) {
    const int64_t size = image->sizes()[size_t(2 + i)], reach = s.dilation[i] * (s.kernel[i] - 1) + 1;
    if (transposed && extra[i] >= std::max(s.stride[i], s.dilation[i])) return false;
    if (transposed)
      sizes[i] = (size - 1) * s.stride[i] - 2 * s.padding[i] + reach + extra[i];
    else
      sizes[i] = size + 2 * s.padding[i] < reach ? 0 : (size + 2 * s.padding[i] - reach) / s.stride[i] + 1;
    if (sizes[i] < 1) return false;
  }
  return true;
}

}  // namespace

Outcome<Tensor> convolution(const Tensor& x, const Tensor& w, const OptionalTensor& given_bias, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const Tensor& bias = or_null(given_bias);
  if (!real_floats(x) || !real_floats(w) || (bias && !real_floats(bias))) return kNoFloats;
  if (!gemm::can_launch_cpu()) return kNoProducts;
  if (w->dtype() != x->dtype() || (bias && bias->dtype() != x->dtype())) return kUnlikeDTypes;
  const int n = w->dim() - 2;
  Steps s;
  int64_t extra[3], sizes[3];
  if (n < 1 || n > 3 || x->dim() != n + 2 || !x->numel() || !w->numel() || !s.read(n, stride, padding, dilation) ||
      !triple_of(output_padding, n, 0, 0, extra) || groups < 1 || w->sizes()[0] % groups)
    return kUnsuitedWindows;
  const DType compute = compute_dtype(x->dtype());
  const Tensor image = contiguous_of(image_as_volume(x), compute), weight = contiguous_of(image_as_volume(w), compute),
               b = contiguous_of(bias, compute);
  std::copy_n(weight->sizes().begin() + 2, 3, s.kernel);
  const int64_t inputs = transposed ? weight->sizes()[0] : weight->sizes()[1] * groups,
                outputs = transposed ? weight->sizes()[1] * groups : weight->sizes()[0];
  if (!result_sizes(image, s, transposed, extra, sizes) || image->sizes()[1] != inputs ||
      (bias && (bias->dim() != 1 || bias->sizes()[0] != outputs)))
    return kUnsuitedWindows;
  const Unlocked others_run;
  const Tensor out = transposed ? convolve_transposed(image, weight, b, s.box(), groups, sizes)
                                : convolve(image, weight, b, s.box(), groups, sizes);
  return in_format(of_dtype(volume_as_image(out, n), x->dtype()), followed(x, w));
}

Outcome<Tensor> convolution_weight_gradient(const Tensor& x, const Tensor& g, IntArrayRef kernel, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  if (!real_floats(x) || !real_floats(g)) return kNoFloats;
  if (!gemm::can_launch_cpu()) return kNoProducts;
  if (g->dtype() != x->dtype()) return kUnlikeDTypes;
  const int n = x->dim() - 2;
  Steps s;
  if (n < 1 || n > 3 || g->dim() != x->dim() || !x->numel() || !g->numel() || g->sizes()[0] != x->sizes()[0] ||
      !s.read(n, stride, padding, dilation) || !triple_of(kernel, n, 1, 1, s.kernel) || groups < 1 ||
      x->sizes()[1] % groups || g->sizes()[1] % groups)
    return kUnsuitedWindows;
  const DType compute = compute_dtype(x->dtype());
  const Tensor image = contiguous_of(image_as_volume(x), compute), slope = contiguous_of(image_as_volume(g), compute);
  for (size_t i = 0; i < 3; ++i)  // windows that hang over are left out by the body
    if ((slope->sizes()[2 + i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 >
        image->sizes()[2 + i] + 2 * s.padding[i])
      return NotMine{"windows that hang over"};
  const Unlocked others_run;
  return of_dtype(volume_as_image(convolution_weight(image, slope, s.box(), groups), n), x->dtype());
}

}  // namespace shim
