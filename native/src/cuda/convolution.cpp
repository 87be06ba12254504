#include "cuda/convolution.h"

#include <algorithm>

#include "cuda/cudnn.h"
#include "cuda/depthwise.h"
#include "cuda/elementwise.h"
#include "cuda/planes.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr NotMine kNoCudnn{"no cuDNN"}, kRefusedByCudnn{"cuDNN has no algorithm for it"};

struct Images {
  Tensor x, weight;
  MemoryFormat format;
  bool line;
};

Tensor as_image(const Tensor& t) {  // a line is an image of one row
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.end() - 1, 1);
  return view(*contiguous(t), sizes);
}
Tensor as_line(const Tensor& t) {
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.erase(sizes.end() - 2);
  return view(*t, sizes);
}
Tensor in_format(const Tensor& t, MemoryFormat format) { return t->is_contiguous(format) ? t : clone(t, format); }

// Both as cuDNN takes them: of one order of memory, lines as images.
bool images_of(const Tensor& x, const Tensor& weight, Images* to) {
  const int n = x->dim() - 2;
  if (n < 1 || n > 3 || weight->dim() != x->dim() || weight->dtype() != x->dtype() || weight->device() != x->device())
    return false;
  to->line = n == 1;
  to->format = MemoryFormat::contiguous;
  for (const Tensor* t : {&x, &weight})
    if (const MemoryFormat f = suggest_memory_format(**t); f != MemoryFormat::contiguous) to->format = f;
  if (n == 3 && to->format != MemoryFormat::contiguous) return false;
  to->x = to->line ? as_image(x) : in_format(x, to->format);
  to->weight = to->line ? as_image(weight) : in_format(weight, to->format);
  return true;
}

bool geometry_of(
    int n, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups, cudnn::Geometry* g) {
  if (!numbers_of(stride, n, 1, &g->stride) || !numbers_of(padding, n, 0, &g->padding) ||
      !numbers_of(dilation, n, 1, &g->dilation))
    return false;
  g->groups = groups;
  if (n == 1) {  // the row of a line
    g->stride.insert(g->stride.begin(), 1);
    g->padding.insert(g->padding.begin(), 0);
    g->dilation.insert(g->dilation.begin(), 1);
  }
  return g->groups >= 1;
}

// The sizes that come out; empty where something is wrong with what was given.
Dims result_sizes(const Images& in, const cudnn::Geometry& g, bool across, const Dims& extra) {
  const IntArrayRef x = in.x->sizes(), w = in.weight->sizes();
  const int64_t inputs = across ? w[0] : w[1] * g.groups, outputs = across ? w[1] * g.groups : w[0];
  if (x[1] != inputs || w[0] % g.groups) return {};
  Dims sizes{x[0], outputs};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t reach = g.dilation[i] * (w[i + 2] - 1) + 1, room = x[i + 2] + 2 * g.padding[i] - reach;
    if (across ? extra[i] >= std::max(g.stride[i], g.dilation[i]) && extra[i] : room < 0) return {};
    const int64_t size =
        across ? (x[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] + reach + extra[i] : room / g.stride[i] + 1;
    if (size < 1) return {};
    sizes.push_back(size);
  }
  return sizes;
}

bool add_bias(const Tensor& out, const Tensor& bias) {
  Dims sizes(size_t(out->dim()), 1);
  sizes[1] = bias->numel();
  const Tensor along = view(*contiguous(bias), sizes);
  const DType compute = out->dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Elementwise e{"add", compute, compute, 3, {Operand::of(*out), Operand::of(*out), Operand::of(*along)}};
  return run_elementwise(e, out->sizes(), out->device().index);
}

// Whether a convolution of lines has a kernel of each channel's own, and a stride of 1.
bool of_each_channel(const Tensor& x, const Tensor& weight, const cudnn::Geometry& g) {
  return x->dim() == 3 && weight->dim() == 3 && weight->dtype() == x->dtype() && weight->device() == x->device() &&
         g.groups == x->sizes()[1] && g.groups > 1 && weight->sizes()[0] == g.groups && weight->sizes()[1] == 1 &&
         g.stride.back() == 1;
}
// The same convolution or, `across`, the transposed one, by our own kernels; null where they do not serve.
Tensor convolve_each(
    const Tensor& x, const Tensor& weight, const Tensor& bias, const cudnn::Geometry& g, bool across, int64_t extra) {
  const int64_t dilation = g.dilation.back(), padding = g.padding.back(), reach = dilation * (weight->sizes()[2] - 1),
                size = x->sizes()[2];
  if (extra && (!across || extra >= dilation)) return {};
  return depthwise(x, weight, bias, across ? padding - reach : -padding, dilation, across,
      across ? size - 2 * padding + reach + extra : size + 2 * padding - reach);
}

// cuDNN's; `sizes` are the result's. Lines come as images of one row.
Outcome<Tensor> convolve_images(
    const Images& in, const Tensor& bias, const cudnn::Geometry& g, bool across, const Dims& extra) {
  const Dims sizes = result_sizes(in, g, across, extra);
  if (sizes.empty() || (bias && bias->numel() != sizes[1])) return kOtherSizes;
  const Tensor out = empty(sizes, in.x->dtype(), in.x->device(), false, in.format);
  if (!(across ? cudnn::convolve_input(in.x, in.weight, g, out) : cudnn::convolve(in.x, in.weight, g, out)))
    return kRefusedByCudnn;
  if (bias && !add_bias(out, bias)) return kNotCompiled;
  return in.line ? as_line(out) : out;
}

// Whether the gradient is that of a convolution as of_each_channel() tells.
bool slopes_of_each_channel(const Tensor& x, const Tensor& grad, int64_t taps, const cudnn::Geometry& g) {
  return x->dim() == 3 && grad->dim() == 3 && g.groups > 1 && x->sizes()[1] == g.groups &&
         grad->sizes()[1] == g.groups && g.stride.back() == 1 && grad->device() == x->device() &&
         grad->sizes()[2] == x->sizes()[2] + 2 * g.padding.back() - g.dilation.back() * (taps - 1);
}

}  // namespace

Outcome<Tensor> convolution(const Tensor& x, const Tensor& weight, const OptionalTensor& own_bias, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const Tensor& bias = or_null(own_bias);
  if (const char* why = not_floats({&x, &weight, &bias})) return NotMine{why};
  const int n = x->dim() - 2;
  cudnn::Geometry g;
  Images in;
  Dims extra;
  if (bias && bias->dtype() != x->dtype()) return kMixedDtypes;
  if ((bias && bias->dim() != 1) || n < 1 || n > 3) return kOtherSizes;
  if (!geometry_of(n, stride, padding, dilation, groups, &g) || !numbers_of(output_padding, n, 0, &extra))
    return kOtherSizes;
  if (of_each_channel(x, weight, g))
    if (const Tensor out = convolve_each(x, weight, bias, g, transposed, extra[0])) return out;
  if (!cudnn::available()) return kNoCudnn;
  if (!images_of(x, weight, &in)) return kOtherSizes;
  if (n == 1) extra.insert(extra.begin(), 0);
  return convolve_images(in, bias, g, transposed, extra);
}

Outcome<Tensor> convolution_weight(const Tensor& x, const Tensor& grad, IntArrayRef taps, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  if (const char* why = not_floats({&x, &grad})) return NotMine{why};
  const int n = x->dim() - 2;
  cudnn::Geometry g;
  Images in;
  Dims kernel;
  if (n < 1 || n > 3 || !geometry_of(n, stride, padding, dilation, groups, &g) || !numbers_of(taps, n, 1, &kernel))
    return kOtherSizes;
  if (slopes_of_each_channel(x, grad, kernel[0], g))
    if (const Tensor out = depthwise_weight(x, grad, kernel[0], -g.padding.back(), g.dilation.back())) return out;
  if (!cudnn::available()) return kNoCudnn;
  if (!images_of(x, grad, &in)) return kOtherSizes;
  if (n == 1) kernel.insert(kernel.begin(), 1);
  const IntArrayRef from = in.x->sizes(), to = in.weight->sizes();
  if (from[0] != to[0] || from[1] % g.groups || to[1] % g.groups) return kOtherSizes;
  Dims sizes{to[1], from[1] / g.groups};
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t room = from[i + 2] + 2 * g.padding[i] - g.dilation[i] * (kernel[i] - 1) - 1;
    if (room < 0 || room / g.stride[i] + 1 != to[i + 2]) return NotMine{"windows that hang over"};
    sizes.push_back(kernel[i]);
  }
  const Tensor out = empty(sizes, x->dtype(), x->device(), false, in.format);
  if (!cudnn::convolve_weight(in.x, in.weight, g, out)) return kRefusedByCudnn;
  return in.line ? as_line(out) : out;
}

}  // namespace shim::cuda
