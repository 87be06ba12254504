// Resampling, attention and norms over channels on CUDA. What is out of the ordinary is left to the records' bodies.
#include <algorithm>

#include "autograd/autograd.h"
#include "cuda/attention.h"
#include "cuda/channel_norm.h"
#include "cuda/images.h"
#include "cuda/launch.h"
#include "python/cuda_images.h"
#include "python/native_cuda.h"
#include "python/tensor_type.h"

namespace shim {

namespace {

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
  Scalar eps;
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
  Scalar eps;
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
  Scalar p;
  if (!number_of(a[0], &p) || !PyLong_Check(a[1]) || !PyLong_Check(a[2])) return false;
  *d = {p.to_double(), PyLong_AsUnsignedLongLongMask(a[1]), PyLong_AsUnsignedLongLongMask(a[2])};
  return !PyErr_Occurred() && d->p >= 0 && d->p < 1;
}

// attention(q, k, v, mask, causal, scale, p, seed, start) -> (out, logsumexp)
PyObject* native_attention(Operator&, PyObject* const* args, size_t count) {
  Scalar scale;
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
  Scalar scale;
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

template <cuda::Stretching how, int n> void register_resize(const char* name) {
  register_native(name, native_resize<how, n, false>);
  register_native((std::string(name) + "_vec").c_str(), native_resize<how, n, true>);
}

}  // namespace

void register_cuda_images() {
  using enum cuda::Stretching;
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
