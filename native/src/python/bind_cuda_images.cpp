// Convolutions, pools, resampling and norms over channels on CUDA. What is out of the ordinary is left to the records' bodies.
#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/attention.h"
#include "cuda/cudnn.h"
#include "cuda/depthwise.h"
#include "cuda/elementwise.h"
#include "cuda/images.h"
#include "cuda/launch.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

constexpr int64_t kMost = int64_t(1) << 30;

// A CUDA tensor of real floats of two bytes or more, with elements.
bool cuda_floats(PyObject* o) {
  if (!is_tensor(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.device().is_cuda() && is_floating(t.dtype()) && t.itemsize() > 1 && t.numel() && !t.has_math_bits();
}
bool cuda_floats_or_none(PyObject* o) { return o == Py_None || cuda_floats(o); }
// One or `n` numbers, from `least` on; false: others.
bool numbers_of(PyObject* o, int n, int64_t least, Dims* to) {
  if (!dims_of(o, to)) {
    PyErr_Clear();
    return false;
  }
  if (to->size() == 1) to->resize(size_t(n), to->front());
  return to->size() == size_t(n) &&
         std::all_of(to->begin(), to->end(), [&](int64_t v) { return v >= least && v < kMost; });
}

// `t` in the order of memory that `like` tells of.
Tensor laid_out_as(const Tensor& t, const Tensor& like) {
  const MemoryFormat format = suggest_memory_format(*like);
  return format == MemoryFormat::contiguous ? t : clone(t, format);
}

// --- convolutions -------------------------------------------------------------------------------------------------------

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

bool geometry_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, PyObject* groups, cudnn::Geometry* g) {
  if (!PyLong_Check(groups) || !numbers_of(stride, n, 1, &g->stride) || !numbers_of(padding, n, 0, &g->padding) ||
      !numbers_of(dilation, n, 1, &g->dilation))
    return false;
  g->groups = PyLong_AsLongLong(groups);
  if (n == 1) {  // the row of a line
    g->stride.insert(g->stride.begin(), 1);
    g->padding.insert(g->padding.begin(), 0);
    g->dilation.insert(g->dilation.begin(), 1);
  }
  return g->groups >= 1;
}

// The sizes that come out; empty where something is wrong with what was given.
Dims result_sizes(const Images& in, const cudnn::Geometry& g, bool across, const Dims& extra) {
  const DimSpan x = in.x->sizes(), w = in.weight->sizes();
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
  const cuda::Elementwise e{"add", compute, compute, 3, {Operand::of(*out), Operand::of(*out), Operand::of(*along)}};
  return cuda::run_elementwise(e, out->sizes(), out->device().index);
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
  return cuda::depthwise(x, weight, bias, across ? padding - reach : -padding, dilation, across,
      across ? size - 2 * padding + reach + extra : size + 2 * padding - reach);
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
PyObject* native_convolution(Operator&, PyObject* const* args, size_t count) {
  if (count != 9 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || !cuda_floats_or_none(args[2])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), weight(unwrap(args[1])), bias = tensor_or_none(args[2]);
    const int n = x->dim() - 2;
    const bool across = args[6] == Py_True;
    cudnn::Geometry g;
    Images in;
    Dims extra;
    if (bias && (bias->dtype() != x->dtype() || bias->dim() != 1)) return nullptr;
    if (n < 1 || n > 3 || !geometry_of(n, args[3], args[4], args[5], args[8], &g) || !numbers_of(args[7], n, 0, &extra))
      return nullptr;
    if (of_each_channel(x, weight, g))
      if (const Tensor out = convolve_each(x, weight, bias, g, across, extra[0])) return wrap(out);
    if (!cudnn::available() || !images_of(x, weight, &in)) return nullptr;
    if (n == 1) extra.insert(extra.begin(), 0);
    const Dims sizes = result_sizes(in, g, across, extra);
    if (sizes.empty() || (bias && bias->numel() != sizes[1])) return nullptr;
    const Tensor out = empty(sizes, x->dtype(), x->device(), false, in.format);
    if (!(across ? cudnn::convolve_input(in.x, in.weight, g, out) : cudnn::convolve(in.x, in.weight, g, out)))
      return nullptr;
    if (bias && !add_bias(out, bias)) return nullptr;
    return wrap(in.line ? as_line(out) : out);
  });
}

// _convolution_weight(input, grad_output, kernel, stride, padding, dilation, groups)
PyObject* native_convolution_weight(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !cuda_floats(args[0]) || !cuda_floats(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), grad(unwrap(args[1]));
    const int n = x->dim() - 2;
    cudnn::Geometry g;
    Images in;
    Dims kernel;
    if (n < 1 || n > 3 || !geometry_of(n, args[3], args[4], args[5], args[6], &g) ||
        !numbers_of(args[2], n, 1, &kernel))
      return nullptr;
    if (n == 1 && grad->dim() == 3 && g.groups > 1 && x->sizes()[1] == g.groups && grad->sizes()[1] == g.groups &&
        g.stride.back() == 1 && grad->device() == x->device() &&
        grad->sizes()[2] == x->sizes()[2] + 2 * g.padding.back() - g.dilation.back() * (kernel[0] - 1))
      if (const Tensor out = cuda::depthwise_weight(x, grad, kernel[0], -g.padding.back(), g.dilation.back()))
        return wrap(out);
    if (!cudnn::available() || !images_of(x, grad, &in)) return nullptr;
    if (n == 1) kernel.insert(kernel.begin(), 1);
    const DimSpan from = in.x->sizes(), to = in.weight->sizes();
    if (from[0] != to[0] || from[1] % g.groups || to[1] % g.groups) return nullptr;
    Dims sizes{to[1], from[1] / g.groups};
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t room = from[i + 2] + 2 * g.padding[i] - g.dilation[i] * (kernel[i] - 1) - 1;
      if (room < 0 || room / g.stride[i] + 1 != to[i + 2]) return nullptr;  // windows that hang over are the body's
      sizes.push_back(kernel[i]);
    }
    const Tensor out = empty(sizes, x->dtype(), x->device(), false, in.format);
    if (!cudnn::convolve_weight(in.x, in.weight, g, out)) return nullptr;
    return wrap(in.line ? as_line(out) : out);
  });
}

// --- pools --------------------------------------------------------------------------------------------------------------

// (planes, depth, height, width) of an input whose last n dims are pooled; null where it has no dims for that.
Tensor as_planes(const Tensor& x, int n, cuda::Sides* s) {
  if (x->dim() < n + 1 || x->dim() > n + 2 || x->numel() > INT32_MAX) return {};
  Dims sizes(4, 1);
  for (int i = 0; i < n; ++i) sizes[size_t(4 - n + i)] = x->sizes()[size_t(x->dim() - n + i)];
  sizes[0] = x->numel() / (sizes[1] * sizes[2] * sizes[3]);
  for (size_t d = 0; d < 3; ++d) s->of[d].size = s->of[d].out = int(sizes[d + 1]);
  return view(*contiguous(x), sizes);
}

// A result of planes with the input's leading dims, in its order of memory.
PyObject* planes_back(const Tensor& out, const Tensor& x, int n) {
  if (!out) return nullptr;
  Dims sizes(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < n; ++i) sizes[sizes.size() - size_t(n) + size_t(i)] = out->sizes()[size_t(4 - n + i)];
  return wrap(laid_out_as(view(*out, sizes), x));
}

PyObject* pair_back(const Tensor& out, const Tensor& indices, const Tensor& x, int n) {
  PyObject* first = planes_back(out, x, n);
  PyObject* second = first ? planes_back(indices, x, n) : nullptr;
  PyObject* both = second ? PyTuple_Pack(2, first, second) : nullptr;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return both;
}

bool adaptive_sides(int n, PyObject* given, cuda::Sides* s) {
  Dims parts;
  if (!PyTuple_Check(given) || !numbers_of(given, n, 1, &parts) || PyTuple_GET_SIZE(given) != n) return false;
  for (int i = 0; i < n; ++i) {
    cuda::Side& side = s->of[3 - n + i];
    side.out = int(parts[size_t(i)]);
    side.adaptive = 1;
  }
  return true;
}

// Settings that nothing is wrong with; `dilation` null: 1.
bool window_sides(
    int n, PyObject* kernel, PyObject* stride, PyObject* padding, PyObject* dilation, bool ceil_mode, cuda::Sides* s) {
  Dims k, step, pad, apart(size_t(n), 1);
  if (!numbers_of(kernel, n, 1, &k) || !numbers_of(padding, n, 0, &pad)) return false;
  if (PySequence_Check(stride) && PySequence_Size(stride) == 0)
    step = k;
  else if (!numbers_of(stride, n, 1, &step))
    return false;
  if (dilation && !numbers_of(dilation, n, 1, &apart)) return false;
  for (int i = 0; i < n; ++i) {
    cuda::Side& side = s->of[3 - n + i];
    const size_t d = size_t(i);
    const int64_t reach = apart[d] * (k[d] - 1) + 1, room = side.size + 2 * pad[d] - reach;
    if (pad[d] > reach / 2 || room < 0) return false;
    int64_t many = (ceil_mode ? (room + step[d] - 1) / step[d] : room / step[d]) + 1;
    if (ceil_mode && (many - 1) * step[d] >= side.size + pad[d]) --many;
    if (many < 1) return false;
    side = {side.size, int(many), int(k[d]), int(step[d]), int(pad[d]), int(apart[d]), 0};
  }
  return true;
}

// max_poolnd_with_indices(self, kernel, stride, padding, dilation, ceil_mode)
template <int n> PyObject* native_max_pool(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !cuda_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    Tensor indices, planes = as_planes(x, n, &s);
    if (!planes || !window_sides(n, args[1], args[2], args[3], args[4], args[5] == Py_True, &s)) return nullptr;
    const Tensor out = cuda::box_max(planes, s, &indices);
    return out ? pair_back(out, indices, x, n) : nullptr;
  });
}

// max_poolnd: its values, where no history is kept
template <int n> PyObject* native_max_pool_values(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !cuda_floats(args[0]) || history(args, count)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    const Tensor planes = as_planes(x, n, &s);
    if (!planes || !window_sides(n, args[1], args[2], args[3], args[4], args[5] == Py_True, &s)) return nullptr;
    return planes_back(cuda::box_max(planes, s, nullptr), x, n);
  });
}

template <int n> PyObject* native_adaptive_max(Operator&, PyObject* const* args, size_t count) {
  if (count != 2 || !cuda_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    Tensor indices, planes = as_planes(x, n, &s);
    if (!planes || !adaptive_sides(n, args[1], &s)) return nullptr;
    const Tensor out = cuda::box_max(planes, s, &indices);
    return out ? pair_back(out, indices, x, n) : nullptr;
  });
}

// adaptive_avg_poolnd(self, output_size), where no history is kept. Of few large parts a reduction is faster.
template <int n> PyObject* native_adaptive_mean(Operator&, PyObject* const* args, size_t count) {
  if (count != 2 || !cuda_floats(args[0]) || history(args, count)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    const Tensor planes = as_planes(x, n, &s);
    if (!planes || !adaptive_sides(n, args[1], &s) || s.of[0].out * s.of[1].out * s.of[2].out == 1) return nullptr;
    return planes_back(cuda::box_mean(planes, s, false, 0), x, n);
  });
}

// avg_poolnd(self, kernel, stride, padding, ceil_mode, count_include_pad[, divisor_override]), where no history is kept
template <int n> PyObject* native_avg_pool(Operator&, PyObject* const* args, size_t count) {
  if (count != (n == 1 ? 6 : 7) || !cuda_floats(args[0]) || history(args, count)) return nullptr;
  const int64_t divisor = n == 1 || args[6] == Py_None ? 0 : PyLong_Check(args[6]) ? PyLong_AsLongLong(args[6]) : 0;
  if (n > 1 && args[6] != Py_None && divisor == 0) return nullptr;  // the record refuses it
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    const Tensor planes = as_planes(x, n, &s);
    if (!planes || !window_sides(n, args[1], args[2], args[3], nullptr, args[4] == Py_True, &s)) return nullptr;
    return planes_back(cuda::box_mean(planes, s, args[5] == Py_True, divisor), x, n);
  });
}

// mean_pool(self, kernel, stride, padding, ceil_mode, include_pad, divisor): with a gradient of its own
PyObject* native_mean_pool(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !cuda_floats(args[0]) || !PyLong_Check(args[6])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    cuda::Sides s;
    const Tensor planes = as_planes(x, 2, &s);
    if (!planes || !window_sides(2, args[1], args[2], args[3], nullptr, args[4] == Py_True, &s)) return nullptr;
    return planes_back(cuda::box_mean(planes, s, args[5] == Py_True, PyLong_AsLongLong(args[6])), x, 2);
  });
}

// mean_pool_backward(g, (height, width), kernel, stride, padding, count_include_pad, divisor)
PyObject* native_mean_pool_backward(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !cuda_floats(args[0]) || !PyLong_Check(args[6])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor g(unwrap(args[0]));
    cuda::Sides s, outs;
    Dims size;
    const Tensor planes = as_planes(g, 2, &outs);
    if (!planes || !numbers_of(args[1], 2, 1, &size)) return nullptr;
    for (int d = 0; d < 2; ++d) s.of[d + 1].size = int(size[size_t(d)]);
    if (!window_sides(2, args[2], args[3], args[4], nullptr, false, &s)) return nullptr;
    for (int d = 0; d < 2; ++d) s.of[d + 1].out = outs.of[d + 1].out;  // in ceil mode there may be one more
    return planes_back(cuda::box_mean_backward(planes, s, args[5] == Py_True, PyLong_AsLongLong(args[6])), g, 2);
  });
}

// --- other sizes --------------------------------------------------------------------------------------------------------

bool scale_of(PyObject* o, double* scale) {  // None, or how many times as large
  *scale = 0;
  if (o == Py_None) return true;
  if (!PyFloat_Check(o) || !(PyFloat_AS_DOUBLE(o) > 0)) return false;
  *scale = PyFloat_AS_DOUBLE(o);
  return true;
}

bool stretches_of(
    const Tensor& x, int n, const Dims& size, const double (&scales)[3], bool aligned, cuda::Stretch (&s)[3]) {
  for (int i = 0; i < n; ++i) {
    cuda::Stretch& to = s[3 - n + i];
    const int64_t from = x->sizes()[size_t(i + 2)], out = size[size_t(i)];
    if (out < 1 || out >= kMost) return false;
    to = {int(from), int(out), aligned, 1};
    if (aligned)
      to.scale = out > 1 ? double(from - 1) / double(out - 1) : 0;
    else
      to.scale = scales[i] > 0 ? 1 / scales[i] : double(from) / double(out);
  }
  return true;
}

// (self, output_size, [align_corners], scale...), or with `Vector` (self, output_size or None, [align_corners], scales or None)
template <cuda::Stretching how, int n, bool Vector>
PyObject* native_resize(Operator&, PyObject* const* args, size_t count) {
  constexpr bool aligns = how == cuda::Stretching::linear || how == cuda::Stretching::cubic;
  constexpr size_t first = aligns ? 3 : 2;
  if (count != first + (Vector ? 1 : n) || !cuda_floats(args[0]) || history(args, count)) return nullptr;
  const Tensor x(unwrap(args[0]));
  if (x->dim() != n + 2 || x->numel() > INT32_MAX) return nullptr;
  return guarded([&]() -> PyObject* {
    double scales[3] = {};
    if (Vector && args[first] != Py_None) {
      PyObject* all = args[first];
      if (!(PyTuple_Check(all) || PyList_Check(all)) || PySequence_Fast_GET_SIZE(all) != n) return nullptr;
      for (int i = 0; i < n; ++i)
        if (!scale_of(PySequence_Fast_GET_ITEM(all, i), &scales[i])) return nullptr;
    } else if (!Vector) {
      for (int i = 0; i < n; ++i)
        if (!scale_of(args[first + size_t(i)], &scales[i])) return nullptr;
    }
    Dims size;
    if (args[1] != Py_None) {
      if (!PyTuple_Check(args[1]) || !dims_of(args[1], &size)) return PyErr_Clear(), nullptr;
    } else {
      for (int i = 0; i < n; ++i)
        size.push_back(scales[i] > 0 ? int64_t(double(x->sizes()[size_t(i + 2)]) * scales[i]) : 0);
    }
    cuda::Stretch s[3];
    if (size.size() != size_t(n) || !stretches_of(x, n, size, scales, aligns && args[2] == Py_True, s)) return nullptr;
    Dims planes{x->sizes()[0] * x->sizes()[1], s[0].size, s[1].size, s[2].size};
    return planes_back(cuda::resize(how, view(*contiguous(x), planes), s), x, n);
  });
}

// weighted_taps(self, dim, indices, weights)
PyObject* native_weighted_taps(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !cuda_floats(args[0]) || !PyLong_CheckExact(args[1]) || !is_tensor(args[2]) || !is_tensor(args[3]))
    return nullptr;
  const Tensor x(unwrap(args[0])), indices(unwrap(args[2])), weights(unwrap(args[3]));
  const long dim = PyLong_AsLong(args[1]);
  if (dim < 0 || dim >= x->dim() || indices->dim() != 2 || indices->dtype() != DType::i64 ||
      weights->dtype() != x->dtype() || !indices->numel())
    return nullptr;
  if (!std::ranges::equal(indices->sizes(), weights->sizes()) || indices->device() != x->device() ||
      weights->device() != x->device())
    return nullptr;
  return guarded(
      [&] { return wrapped(cuda::weigh_lines(contiguous(x), dim, contiguous(indices), contiguous(weights))); });
}

// grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners), where no history is kept; sample_grid has a gradient of its own
template <bool Keeps> PyObject* native_grid_sampler(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || (!Keeps && history(args, n)) ||
      !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3]))
    return nullptr;
  const long mode = PyLong_AsLong(args[2]), padding = PyLong_AsLong(args[3]);
  const Tensor x(unwrap(args[0])), grid(unwrap(args[1]));
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2 || grid->dtype() != x->dtype() || x->dim() != 4 ||
      grid->dim() != 4 || grid->sizes()[3] != 2)
    return nullptr;
  if (grid->sizes()[0] != x->sizes()[0] || grid->device() != x->device()) return nullptr;
  return guarded([&] {
    return wrapped(cuda::sample_grid(contiguous(x), contiguous(grid), mode == 1, int(padding), args[4] == Py_True));
  });
}

// sample_grid_backward(grad_output, input, grid, mode, padding, align_corners, of_grid)
PyObject* native_sample_grid_backward(Operator&, PyObject* const* args, size_t n) {
  if (n != 7 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || !cuda_floats(args[2]) ||
      !PyLong_CheckExact(args[3]) || !PyLong_CheckExact(args[4]))
    return nullptr;
  const long mode = PyLong_AsLong(args[3]), padding = PyLong_AsLong(args[4]);
  const Tensor g(unwrap(args[0])), x(unwrap(args[1])), grid(unwrap(args[2]));
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2 || x->dim() != 4 || grid->dim() != 4 || g->dim() != 4 ||
      grid->sizes()[3] != 2)
    return nullptr;
  if (g->dtype() != x->dtype() || grid->dtype() != x->dtype() || grid->device() != x->device() ||
      g->device() != x->device())
    return nullptr;
  if (g->sizes()[0] != x->sizes()[0] || grid->sizes()[0] != x->sizes()[0] || g->sizes()[1] != x->sizes()[1] ||
      g->sizes()[2] != grid->sizes()[1] || g->sizes()[3] != grid->sizes()[2])
    return nullptr;
  return guarded([&]() -> PyObject* {
    return wrapped(cuda::sample_grid_backward(contiguous(g), contiguous(x), contiguous(grid), mode == 1, int(padding),
        args[5] == Py_True, args[6] == Py_True));
  });
}

// --- norms over channels ------------------------------------------------------------------------------------------------

bool vectors(PyObject* const* args, std::initializer_list<int> which, int64_t channels) {
  for (int i : which)
    if (args[i] != Py_None &&
        (!cuda_floats(args[i]) || unwrap(args[i])->dim() != 1 || unwrap(args[i])->numel() != channels))
      return false;
  return true;
}
Tensor computed(const Tensor& t, DType like) {  // a statistic in the dtype that sums of `like` are
  const DType compute = like == DType::f64 ? DType::f64 : DType::f32;
  return !t ? t : contiguous(t->dtype() == compute ? t : to_dtype(t, compute));
}

// channel_norm(input, weight, bias, mean, variance, of_batch, eps) -> (output, mean, variance)
PyObject* native_channel_norm(Operator&, PyObject* const* args, size_t count) {
  Number eps;
  if (count != 7 || !cuda_floats(args[0]) || unwrap(args[0])->dim() < 2 || (args[5] == Py_True) != (args[3] == Py_None))
    return nullptr;
  const Tensor x(unwrap(args[0]));
  if (!vectors(args, {1, 2, 3, 4}, x->sizes()[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[6], &eps)) return nullptr;
    Tensor mean = computed(tensor_or_none(args[3]), x->dtype()),
           variance = computed(tensor_or_none(args[4]), x->dtype());
    const Tensor out = cuda::channel_norm(contiguous(x), cuda::contiguous_or_null(tensor_or_none(args[1])),
        cuda::contiguous_or_null(tensor_or_none(args[2])), eps.to_double(), &mean, &variance);
    return out ? tuple_of({laid_out_as(out, x), mean, variance}) : nullptr;
  });
}

// channel_norm_backward(g, input, weight, mean, variance, eps, of_batch) -> (dx, dweight, dbias)
PyObject* native_channel_norm_backward(Operator&, PyObject* const* args, size_t count) {
  Number eps;
  if (count != 7 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || unwrap(args[1])->dim() < 2) return nullptr;
  const Tensor g(unwrap(args[0])), x(unwrap(args[1]));
  if (!vectors(args, {2, 3, 4}, x->sizes()[1]) || args[3] == Py_None || args[4] == Py_None ||
      !std::ranges::equal(g->sizes(), x->sizes()))
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[5], &eps)) return nullptr;
    const cuda::ChannelSlopes r = cuda::channel_norm_backward(contiguous(g), contiguous(x),
        cuda::contiguous_or_null(tensor_or_none(args[2])), computed(tensor_or_none(args[3]), x->dtype()),
        computed(tensor_or_none(args[4]), x->dtype()), eps.to_double(), args[6] == Py_True);
    return r.input ? tuple_of({laid_out_as(r.input, x), r.weight, r.bias}) : nullptr;
  });
}

// (p, seed, start) from `a` on
bool dropout_of(PyObject* const* a, cuda::AttentionDropout* d) {
  Number p;
  if (!number_of(a[0], &p) || !PyLong_Check(a[1]) || !PyLong_Check(a[2])) return false;
  *d = {p.to_double(), PyLong_AsUnsignedLongLongMask(a[1]), PyLong_AsUnsignedLongLongMask(a[2])};
  return !PyErr_Occurred() && d->p >= 0 && d->p < 1;
}

// attention(q, k, v, mask, causal, scale, p, seed, start) -> (out, logsumexp)
PyObject* native_attention(Operator&, PyObject* const* args, size_t count) {
  Number scale;
  if (count != 9 || !cuda_floats(args[0]) || !cuda_floats(args[1]) || !cuda_floats(args[2]) ||
      !(args[3] == Py_None || (is_tensor(args[3]) && unwrap(args[3])->device().is_cuda())))
    return nullptr;
  return guarded([&]() -> PyObject* {
    cuda::AttentionDropout dropout;
    if (!number_of(args[5], &scale) || !dropout_of(args + 6, &dropout)) return nullptr;
    Tensor lse;
    const Tensor out = cuda::attention(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), Tensor(unwrap(args[2])),
        tensor_or_none(args[3]), args[4] == Py_True, scale.to_double(), dropout, &lse);
    return out ? tuple_of({out, lse}) : nullptr;
  });
}

// attention_backward(g, q, k, v, mask, out, logsumexp, causal, scale, p, seed, start) -> (dq, dk, dv)
PyObject* native_attention_backward(Operator&, PyObject* const* args, size_t count) {
  Number scale;
  if (count != 12 || !(args[4] == Py_None || (is_tensor(args[4]) && unwrap(args[4])->device().is_cuda())))
    return nullptr;
  for (int i : {0, 1, 2, 3, 5, 6})
    if (!cuda_floats(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    cuda::AttentionDropout dropout;
    if (!number_of(args[8], &scale) || !dropout_of(args + 9, &dropout)) return nullptr;
    const auto at = [&](int i) { return Tensor(unwrap(args[i])); };
    const cuda::AttentionSlopes r = cuda::attention_backward(at(0), at(1), at(2), at(3), tensor_or_none(args[4]), at(5),
        at(6), args[7] == Py_True, scale.to_double(), dropout);
    return r.query ? tuple_of({r.query, r.key, r.value}) : nullptr;
  });
}

template <int n> void register_pools() {
  const std::string d = std::to_string(n) + "d";
  register_native(("max_pool" + d + "_with_indices").c_str(), native_max_pool<n>);
  register_native(("max_pool" + d).c_str(), native_max_pool_values<n>);
  register_native(("adaptive_max_pool" + d).c_str(), native_adaptive_max<n>);
  register_native(("adaptive_avg_pool" + d).c_str(), native_adaptive_mean<n>);
  register_native(("avg_pool" + d).c_str(), native_avg_pool<n>);
}

template <cuda::Stretching how, int n> void register_resize(const char* name) {
  register_native(name, native_resize<how, n, false>);
  register_native((std::string(name) + "_vec").c_str(), native_resize<how, n, true>);
}

// cudnn_setting(name[, value]): one of torch.backends.cudnn; "version" is 0 without the library.
PyObject* py_cudnn_setting(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyObject* value = nullptr;
  if (!PyArg_ParseTuple(args, "s|O", &name, &value)) return nullptr;
  const std::string_view which(name);
  if (which == "version") return PyLong_FromLongLong(cudnn::version());
  cudnn::Settings& s = cudnn::settings();
  bool* one = which == "enabled"         ? &s.enabled
              : which == "allow_tf32"    ? &s.allow_tf32
              : which == "deterministic" ? &s.deterministic
                                         : nullptr;
  if (!one) return PyErr_Format(PyExc_ValueError, "no setting %s", name);
  const int truth = value ? PyObject_IsTrue(value) : *one;
  if (truth < 0) return nullptr;
  *one = truth != 0;
  return PyBool_FromLong(*one);
}

PyMethodDef cuda_images_functions[] = {
    {"cudnn_setting", py_cudnn_setting, METH_VARARGS, "Reads or sets a switch of convolutions on CUDA."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_images(PyObject* module) { return PyModule_AddFunctions(module, cuda_images_functions); }

void register_cuda_images() {
  using enum cuda::Stretching;
  register_native("convolution", native_convolution);
  register_native("_convolution_weight", native_convolution_weight);
  register_pools<1>();
  register_pools<2>();
  register_pools<3>();
  register_native("mean_pool", native_mean_pool);
  register_native("mean_pool_backward", native_mean_pool_backward);
  register_resize<nearest, 1>("upsample_nearest1d");
  register_resize<nearest, 2>("upsample_nearest2d");
  register_resize<nearest, 3>("upsample_nearest3d");
  register_resize<nearest_exact, 1>("_upsample_nearest_exact1d");
  register_resize<nearest_exact, 2>("_upsample_nearest_exact2d");
  register_resize<nearest_exact, 3>("_upsample_nearest_exact3d");
  register_resize<linear, 1>("upsample_linear1d");
  register_resize<linear, 2>("upsample_bilinear2d");
  register_resize<linear, 3>("upsample_trilinear3d");
  register_resize<cubic, 2>("upsample_bicubic2d");
  register_native("weighted_taps", native_weighted_taps);
  register_native("grid_sampler", native_grid_sampler<false>);
  register_native("sample_grid", native_grid_sampler<true>);
  register_native("sample_grid_backward", native_sample_grid_backward);
  register_native("attention", native_attention);
  register_native("attention_backward", native_attention_backward);
  register_native("channel_norm", native_channel_norm);
  register_native("channel_norm_backward", native_channel_norm_backward);
}

}  // namespace shim
