// CPU kernels of convolutions, pools and norms over channels. What is out of the ordinary is left to the records' bodies.
#include <algorithm>
#include <initializer_list>

#include "autograd/autograd.h"
#include "cpu/kernel_table.h"
#include "cpu/pooling.h"
#include "cpu/reduce.h"
#include "gemm/problem.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

bool plain_floats_or_none(PyObject* o) { return o == Py_None || plain_floats(o); }

Tensor as(const Tensor& t, DType dtype) {
  return !t ? t : t->dtype() == dtype ? contiguous(t) : contiguous(to_dtype(t, dtype));
}

// One or `n` numbers as those of height and width; of one dim, the height's is `missing`. False: others, or one below `least`.
bool pair_of(PyObject* o, int n, int64_t least, int64_t missing, int64_t (&out)[2]) {
  Dims dims;
  if (!dims_of(o, &dims)) {
    PyErr_Clear();
    return false;
  }
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  out[0] = n == 1 ? missing : dims[0];
  out[1] = dims.back();
  return out[0] >= least && out[1] >= least && std::max(out[0], out[1]) < (int64_t(1) << 30);
}

// A line is an image of one row, an image a volume of one.
Tensor as_volumes(const Tensor& t) {
  if (t->dim() == 5) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.insert(sizes.begin() + 2, size_t(5 - t->dim()), 1);
  return view(*contiguous(t), sizes);
}
Tensor from_volumes(const Tensor& t, int n) {
  if (n == 3) return t;
  Dims sizes(t->sizes().begin(), t->sizes().end());
  sizes.erase(sizes.begin() + 2, sizes.begin() + 5 - n);
  return view(*t, sizes);
}
Tensor narrowed(const Tensor& t, DType dtype) { return t->dtype() == dtype ? t : to_dtype(t, dtype); }

bool window_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, Window* w) {
  return pair_of(stride, n, 1, 1, w->stride) && pair_of(padding, n, 0, 0, w->padding) &&
         pair_of(dilation, n, 1, 1, w->dilation);
}

// One or `n` numbers as those of depth, height and width; of the first dims, those that are not there, `missing`.
bool triple_of(PyObject* o, int n, int64_t least, int64_t missing, int64_t (&out)[3]) {
  Dims dims;
  if (!dims_of(o, &dims)) {
    PyErr_Clear();
    return false;
  }
  if (dims.empty() || (dims.size() != 1 && dims.size() != size_t(n))) return false;
  for (int i = 0; i < 3; ++i) {
    const int own = i - (3 - n);
    out[i] = own < 0 ? missing : dims.size() == 1 ? dims[0] : dims[size_t(own)];
    if (out[i] < least || out[i] >= (int64_t(1) << 30)) return false;
  }
  return true;
}

struct Steps {
  int64_t kernel[3], stride[3], padding[3], dilation[3];
};
bool steps_of(int n, PyObject* stride, PyObject* padding, PyObject* dilation, Steps* s) {
  return triple_of(stride, n, 1, 1, s->stride) && triple_of(padding, n, 0, 0, s->padding) &&
         triple_of(dilation, n, 1, 1, s->dilation);
}
Box box_of(const Steps& s) {
  return {{{s.kernel[1], s.kernel[2]}, {s.stride[1], s.stride[2]}, {s.padding[1], s.padding[2]},
              {s.dilation[1], s.dilation[2]}},
      s.kernel[0], s.stride[0], s.padding[0], s.dilation[0]};
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
PyObject* native_convolution(Operator&, PyObject* const* args, size_t count) {
  if (count != 9 || !plain_floats(args[0]) || !plain_floats(args[1]) || !plain_floats_or_none(args[2]) ||
      !PyLong_Check(args[8]) || !gemm::can_launch_cpu())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), w(unwrap(args[1])), bias = tensor_or_none(args[2]);
    const int n = w->dim() - 2;
    const int64_t groups = PyLong_AsLongLong(args[8]);
    Steps s;
    int64_t extra[3];
    if (n < 1 || n > 3 || x->dim() != n + 2 || w->dtype() != x->dtype() || (bias && bias->dtype() != x->dtype()) ||
        !x->numel() || !w->numel())
      return nullptr;
    if (!steps_of(n, args[3], args[4], args[5], &s) || !triple_of(args[7], n, 0, 0, extra) || groups < 1 ||
        w->sizes()[0] % groups)
      return nullptr;
    const bool across = args[6] == Py_True;
    const DType compute = compute_dtype(x->dtype());
    const Tensor image = as(as_volumes(x), compute), weight = as(as_volumes(w), compute), b = as(bias, compute);
    const int64_t inputs = across ? weight->sizes()[0] : weight->sizes()[1] * groups,
                  outputs = across ? weight->sizes()[1] * groups : weight->sizes()[0];
    int64_t sizes[3];
    for (int i = 0; i < 3; ++i) {
      s.kernel[i] = weight->sizes()[size_t(2 + i)];
      const int64_t size = image->sizes()[size_t(2 + i)], reach = s.dilation[i] * (s.kernel[i] - 1) + 1;
      if (across && extra[i] >= std::max(s.stride[i], s.dilation[i])) return nullptr;
      if (across)
        sizes[i] = (size - 1) * s.stride[i] - 2 * s.padding[i] + reach + extra[i];
      else
        sizes[i] = size + 2 * s.padding[i] < reach ? 0 : (size + 2 * s.padding[i] - reach) / s.stride[i] + 1;
      if (sizes[i] < 1) return nullptr;
    }
    if (image->sizes()[1] != inputs || (bias && (bias->dim() != 1 || bias->sizes()[0] != outputs))) return nullptr;
    Tensor out;
    {
      GilRelease released;
      out = across ? convolve_transposed(image, weight, b, box_of(s), groups, sizes)
                   : convolve(image, weight, b, box_of(s), groups, sizes);
      out = narrowed(from_volumes(out, n), x->dtype());
    }
    return wrap(out);
  });
}

// _convolution_weight(input, grad_output, kernel, stride, padding, dilation, groups)
PyObject* native_convolution_weight(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !plain_floats(args[0]) || !plain_floats(args[1]) || !PyLong_Check(args[6]) ||
      !gemm::can_launch_cpu())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), g(unwrap(args[1]));
    const int n = x->dim() - 2;
    const int64_t groups = PyLong_AsLongLong(args[6]);
    Steps s;
    if (n < 1 || n > 3 || g->dim() != x->dim() || g->dtype() != x->dtype() || !x->numel() || !g->numel() ||
        g->sizes()[0] != x->sizes()[0])
      return nullptr;
    if (!steps_of(n, args[3], args[4], args[5], &s) || !triple_of(args[2], n, 1, 1, s.kernel) || groups < 1 ||
        x->sizes()[1] % groups || g->sizes()[1] % groups)
      return nullptr;
    const DType compute = compute_dtype(x->dtype());
    const Tensor image = as(as_volumes(x), compute), slope = as(as_volumes(g), compute);
    for (size_t i = 0; i < 3; ++i)  // windows that hang over are left out by the body
      if ((slope->sizes()[2 + i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1 >
          image->sizes()[2 + i] + 2 * s.padding[i])
        return nullptr;
    Tensor out;
    {
      GilRelease released;
      out = narrowed(from_volumes(convolution_weight(image, slope, box_of(s), groups), n), x->dtype());
    }
    return wrap(out);
  });
}

// How many windows stand in an image, height and width; false where there are none.
bool windows_in(const Window& w, int64_t height, int64_t width, int64_t (&many)[2]) {
  for (int i = 0; i < 2; ++i) {
    const int64_t room = (i ? width : height) + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return false;
    many[i] = room / w.stride[i] + 1;
  }
  return true;
}

bool wide_float(const Tensor& t) { return t->dtype() == DType::f32 || t->dtype() == DType::f64; }

// im2col(self, kernel_size, dilation, padding, stride)
PyObject* native_im2col(Operator&, PyObject* const* args, size_t count) {
  if (count != 5 || !plain_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Window w;
    int64_t many[2];
    if (!wide_float(x) || (x->dim() != 3 && x->dim() != 4) || !x->numel()) return nullptr;
    if (!pair_of(args[1], 2, 1, 1, w.kernel) || !window_of(2, args[4], args[3], args[2], &w)) return nullptr;
    const int64_t *sizes = x->sizes_data() + x->dim() - 3, batch = x->dim() == 4 ? x->sizes()[0] : 1;
    if (!windows_in(w, sizes[1], sizes[2], many)) return nullptr;
    const Tensor image = view(*contiguous(x), Dims{batch, sizes[0], sizes[1], sizes[2]});
    const Tensor out =
        unlocked(x->numel() * w.kernel[0] * w.kernel[1], [&] { return to_window_columns(image, w, many[0], many[1]); });
    return wrap(x->dim() == 4 ? out : view(*out, Dims{out->sizes()[1], out->sizes()[2]}));
  });
}

// col2im(self, output_size, kernel_size, dilation, padding, stride)
PyObject* native_col2im(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !plain_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Window w;
    int64_t many[2], size[2];
    if (!wide_float(x) || (x->dim() != 2 && x->dim() != 3) || !x->numel()) return nullptr;
    if (!pair_of(args[1], 2, 1, 1, size) || !pair_of(args[2], 2, 1, 1, w.kernel) ||
        !window_of(2, args[5], args[4], args[3], &w))
      return nullptr;
    const int64_t *sizes = x->sizes_data() + x->dim() - 2, batch = x->dim() == 3 ? x->sizes()[0] : 1,
                  area = w.kernel[0] * w.kernel[1];
    if (!windows_in(w, size[0], size[1], many) || sizes[0] % area || many[0] * many[1] != sizes[1]) return nullptr;
    const Tensor columns = view(*contiguous(x), Dims{batch, sizes[0], sizes[1]});
    const Tensor out = unlocked(x->numel(),
        [&] { return from_window_columns(columns, w, sizes[0] / area, size[0], size[1], many[0], many[1]); });
    return wrap(x->dim() == 3 ? out : view(*out, Dims{out->sizes()[1], size[0], size[1]}));
  });
}

struct Pool {
  int n;
  Window window;
  Tensor planes;  // of the compute dtype
  int64_t sizes[2];
  Dims shape;  // of the result
};

// The settings of a pool over the last n dims that nothing is wrong with.
bool pool_of(const Tensor& x, int n, PyObject* kernel, PyObject* stride, PyObject* padding, PyObject* dilation,
    bool ceil_mode, Pool* p) {
  p->n = n;
  if (x->dim() < n + 1 || x->dim() > n + 2 || !x->numel()) return false;
  Window& w = p->window;
  if (!pair_of(kernel, n, 1, 1, w.kernel) || !pair_of(padding, n, 0, 0, w.padding)) return false;
  if (dilation ? !pair_of(dilation, n, 1, 1, w.dilation) : (w.dilation[0] = w.dilation[1] = 1, false)) return false;
  if (PySequence_Size(stride) == 0)
    w.stride[0] = w.kernel[0], w.stride[1] = w.kernel[1];
  else if (!pair_of(stride, n, 1, 1, w.stride))
    return false;
  p->shape.assign(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < 2; ++i) {
    if (w.padding[i] > ((w.kernel[i] - 1) * w.dilation[i] + 1) / 2) return false;
    const int64_t size = i == 0 && n == 1 ? 1 : x->sizes()[size_t(x->dim() - 2 + i)],
                  room = size + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    if (room < 0) return false;
    p->sizes[i] = (ceil_mode ? (room + w.stride[i] - 1) / w.stride[i] : room / w.stride[i]) + 1;
    if (ceil_mode && (p->sizes[i] - 1) * w.stride[i] >= size + w.padding[i]) --p->sizes[i];
    if (p->sizes[i] < 1) return false;
    if (i == 1 || n == 2) p->shape[p->shape.size() - 2 + size_t(i)] = p->sizes[i];
  }
  const int64_t width = x->sizes().back(), height = n == 1 ? 1 : x->sizes()[size_t(x->dim() - 2)];
  p->planes = view(*as(x, compute_dtype(x->dtype())), Dims{x->numel() / (width * height), height, width});
  return true;
}

// max_pool_with_indices(self, kernel, stride, padding, dilation, ceil_mode) -> (values, places)
template <int n> PyObject* native_max_pool(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !plain_floats(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Pool p;
    if (!pool_of(x, n, args[1], args[2], args[3], args[4], args[5] == Py_True, &p)) return nullptr;
    Tensor indices, out;
    {
      GilRelease released;
      out = max_pool(p.planes, p.window, p.sizes[0], p.sizes[1], &indices);
      out = narrowed(view(*out, p.shape), x->dtype());
      indices = view(*indices, p.shape);
    }
    return tuple_of({out, indices});
  });
}

// max_pool(self, kernel, stride, padding, dilation, ceil_mode), where no history is kept
template <int n> PyObject* native_max_pool_whole(Operator& op, PyObject* const* args, size_t count) {
  return history(args, count) ? nullptr : first_of(native_max_pool<n>(op, args, count));
}

// mean_pool(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor (0 or None: none))
template <int n> PyObject* native_mean_pool(Operator&, PyObject* const* args, size_t count) {
  if (count < 6 || count > 7 || !plain_floats(args[0])) return nullptr;
  const int64_t divisor = count == 7 && PyLong_Check(args[6]) ? PyLong_AsLongLong(args[6]) : 0;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    Pool p;
    if (!pool_of(x, n, args[1], args[2], args[3], nullptr, args[4] == Py_True, &p)) return nullptr;
    Tensor out = mean_pool(p.planes, p.window, p.sizes[0], p.sizes[1], args[5] == Py_True, divisor);
    return wrap(narrowed(view(*out, p.shape), x->dtype()));
  });
}
// avg_pool: the same where no history is kept
template <int n> PyObject* native_avg_pool(Operator& op, PyObject* const* args, size_t count) {
  const bool refused = count == 7 && PyLong_Check(args[6]) && PyLong_AsLongLong(args[6]) == 0;
  return refused || history(args, count) ? nullptr : native_mean_pool<n>(op, args, count);
}

// mean_pool_backward(g, (height, width), kernel, stride, padding, count_include_pad, divisor)
PyObject* native_mean_pool_backward(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !plain_floats(args[0]) || !PyLong_Check(args[6])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor g(unwrap(args[0]));
    Window w{};
    int64_t sizes[2];
    if (g->dim() < 3 || !pair_of(args[1], 2, 1, 1, sizes) || !pair_of(args[2], 2, 1, 1, w.kernel) ||
        !pair_of(args[3], 2, 1, 1, w.stride) || !pair_of(args[4], 2, 0, 0, w.padding))
      return nullptr;
    Dims shape(g->sizes().begin(), g->sizes().end());
    const int64_t h = shape[shape.size() - 2], v = shape.back(), divisor = PyLong_AsLongLong(args[6]);
    if (!g->numel()) return nullptr;
    shape[shape.size() - 2] = sizes[0], shape.back() = sizes[1];
    const Tensor planes = view(*as(g, compute_dtype(g->dtype())), Dims{g->numel() / (h * v), h, v});
    return wrap(narrowed(
        view(*mean_pool_backward(planes, w, sizes[0], sizes[1], args[5] == Py_True, divisor), shape), g->dtype()));
  });
}

// One number a channel, or none: anybody can call the operators.
bool of_channels(const TensorImpl& x, PyObject* const* args, std::initializer_list<int> places) {
  for (int i : places)
    if (args[i] != Py_None && unwrap(args[i])->numel() != x.sizes()[1]) return false;
  return true;
}

// channel_norm(input, weight, bias, mean, variance, of_batch, eps) -> (output, mean, variance)
PyObject* native_channel_norm(Operator&, PyObject* const* args, size_t count) {
  Number eps;
  if (count != 7 || !plain_floats(args[0]) || (args[5] == Py_True) != (args[3] == Py_None) ||
      (args[3] == Py_None) != (args[4] == Py_None))
    return nullptr;
  for (int i = 1; i < 5; ++i)
    if (!plain_floats_or_none(args[i])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0]));
    if (!number_of(args[6], &eps) || x->dim() < 2 || !x->numel() || !of_channels(*x, args, {1, 2, 3, 4}))
      return nullptr;
    Tensor mean = tensor_or_none(args[3]), variance = tensor_or_none(args[4]), out;
    {
      std::optional<GilRelease> released;
      if (x->numel() >= 2 * kGrain) released.emplace();
      out = channel_norm(x, tensor_or_none(args[1]), tensor_or_none(args[2]), eps.to_double(), &mean, &variance);
    }
    return tuple_of({out, mean, variance});
  });
}

// channel_norm_backward(g, input, weight, mean, variance, eps, of_batch) -> (dx, dweight, dbias)
PyObject* native_channel_norm_backward(Operator&, PyObject* const* args, size_t count) {
  Number eps;
  if (count != 7 || !plain_floats(args[0]) || !plain_floats(args[1]) || !plain_floats_or_none(args[2]) ||
      !plain_floats(args[3]) || !plain_floats(args[4]))
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor g(unwrap(args[0])), x(unwrap(args[1]));
    if (!number_of(args[5], &eps) || x->dim() < 2 || !x->numel() || !of_channels(*x, args, {2, 3, 4})) return nullptr;
    if (!std::ranges::equal(g->sizes(), x->sizes())) return nullptr;
    ChannelGradients r;
    {
      std::optional<GilRelease> released;
      if (x->numel() >= 2 * kGrain) released.emplace();
      r = channel_norm_backward(g, x, tensor_or_none(args[2]), Tensor(unwrap(args[3])), Tensor(unwrap(args[4])),
          eps.to_double(), args[6] == Py_True);
    }
    return tuple_of({r.input, r.weight, r.bias});
  });
}

}  // namespace

void register_cpu_images() {
  register_native_cpu("im2col", native_im2col);
  register_native_cpu("col2im", native_col2im);
  register_native_cpu("convolution", native_convolution);
  register_native_cpu("_convolution_weight", native_convolution_weight);
  register_native_cpu("max_pool1d_with_indices", native_max_pool<1>);
  register_native_cpu("max_pool2d_with_indices", native_max_pool<2>);
  register_native_cpu("max_pool1d", native_max_pool_whole<1>);
  register_native_cpu("max_pool2d", native_max_pool_whole<2>);
  register_native_cpu("mean_pool", native_mean_pool<2>);
  register_native_cpu("avg_pool1d", native_avg_pool<1>);
  register_native_cpu("avg_pool2d", native_avg_pool<2>);
  register_native_cpu("mean_pool_backward", native_mean_pool_backward);
  register_native_cpu("channel_norm", native_channel_norm);
  register_native_cpu("channel_norm_backward", native_channel_norm_backward);
}

}  // namespace shim
