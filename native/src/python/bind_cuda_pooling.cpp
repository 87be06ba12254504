// Pools on CUDA. What is out of the ordinary is left to the records' bodies.
#include "autograd/autograd.h"
#include "cuda/attention.h"
#include "cuda/cudnn.h"
#include "cuda/images.h"
#include "cuda/launch.h"
#include "python/cuda_images.h"
#include "python/native_cuda.h"

namespace shim {

namespace {

PyObject* pair_back(const Tensor& out, const Tensor& places, const Tensor& x, int n) {
  PyObject* first = planes_back(out, x, n);
  PyObject* second = first ? planes_back(places, x, n) : nullptr;
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
    Tensor places, planes = as_planes(x, n, &s);
    if (!planes || !window_sides(n, args[1], args[2], args[3], args[4], args[5] == Py_True, &s)) return nullptr;
    const Tensor out = cuda::box_max(planes, s, &places);
    return out ? pair_back(out, places, x, n) : nullptr;
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
    Tensor places, planes = as_planes(x, n, &s);
    if (!planes || !adaptive_sides(n, args[1], &s)) return nullptr;
    const Tensor out = cuda::box_max(planes, s, &places);
    return out ? pair_back(out, places, x, n) : nullptr;
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

template <int n> void register_pools() {
  const std::string d = std::to_string(n) + "d";
  register_native(("max_pool" + d + "_with_indices").c_str(), native_max_pool<n>);
  register_native(("max_pool" + d).c_str(), native_max_pool_values<n>);
  register_native(("adaptive_max_pool" + d).c_str(), native_adaptive_max<n>);
  register_native(("adaptive_avg_pool" + d).c_str(), native_adaptive_mean<n>);
  register_native(("avg_pool" + d).c_str(), native_avg_pool<n>);
}

}  // namespace

void register_cuda_pooling() {
  register_pools<1>();
  register_pools<2>();
  register_pools<3>();
  register_native("mean_pool", native_mean_pool);
  register_native("mean_pool_backward", native_mean_pool_backward);
}

}  // namespace shim
