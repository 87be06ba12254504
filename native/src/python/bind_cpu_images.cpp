// CPU kernels of convolutions, pools and norms over channels. What is out of the ordinary is left to the records' bodies.
#include <algorithm>
#include <initializer_list>

#include "autograd/autograd.h"
#include "cpu/kernel_table.h"
#include "cpu/pooling.h"
#include "ops/gemm_problem.h"
#include "python/cpu_images.h"
#include "python/native_cpu.h"

namespace shim {

namespace {

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
    int64_t sizes[2] = {};
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
  Scalar eps;
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
  Scalar eps;
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
