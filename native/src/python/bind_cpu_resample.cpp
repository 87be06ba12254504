// upsample_nearest2d, upsample_bilinear2d, grid_sampler and weighted_taps on the CPU, where no history is recorded. Null where no kernel
// fits: the record's body runs.
#include "core/checked.h"
#include "autograd/autograd.h"
#include "cpu/resample.h"
#include "cpu/interpolation.h"
#include "ops/kernels.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

bool images(PyObject* o) {
  if (!on_cpu(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.dim() == 4 && t.numel() && t.is_contiguous() && !is_complex(t.dtype()) && t.dtype() != DType::b8 &&
         is_plain(Tensor(unwrap(o)));
}

bool scale_of(PyObject* o, double* scale) {  // None, or how many times as large
  *scale = 0;
  if (o == Py_None) return true;
  const double given = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : -1;
  if (!(given > 0)) return false;
  *scale = 1 / given;
  return true;
}

// (self, output_size, [align_corners], scale, scale), (self, output_size or None, [align_corners], scales or None)
template <bool Linear, bool Vector> PyObject* native_resize(Operator&, PyObject* const* args, size_t n) {
  constexpr size_t kScales = Linear ? 3 : 2;
  if (n != kScales + (Vector ? 1 : 2) || !images(args[0]) || history(args, n)) return nullptr;
  const Tensor x(unwrap(args[0]));
  if (is_integral(x->dtype()) && x->dtype() != DType::u8) return nullptr;  // which PyTorch has no kernel for
  Dims size;
  Scales scales;
  PyObject *height = Vector ? Py_None : args[kScales], *width = Vector ? Py_None : args[n - 1];
  if (Vector && args[kScales] != Py_None) {
    PyObject* both = args[kScales];
    if (!(PyTuple_Check(both) || PyList_Check(both)) || PySequence_Fast_GET_SIZE(both) != 2) return nullptr;
    height = PySequence_Fast_GET_ITEM(both, 0), width = PySequence_Fast_GET_ITEM(both, 1);
  }
  if (!scale_of(height, &scales.height) || !scale_of(width, &scales.width)) return nullptr;
  if (args[1] != Py_None) {
    if (!PyTuple_Check(args[1]) || !dims_of(args[1], &size)) return nullptr;
  } else {
    if (height == Py_None) return nullptr;
    size = {int64_t(double(x->sizes()[2]) * PyFloat_AS_DOUBLE(height)),
        int64_t(double(x->sizes()[3]) * PyFloat_AS_DOUBLE(width))};
  }
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return nullptr;
  return guarded([&] {
    return wrapped(unlocked(checked_product({x->sizes()[0], x->sizes()[1], size[0], size[1]}), [&] {
      return Linear ? resize_linear(x, size[0], size[1], args[2] == Py_True, scales)
                    : resize_nearest(x, size[0], size[1], scales);
    }));
  });
}

bool wide(PyObject* o) {  // contiguous, float32 or float64, with values of its own
  if (!on_cpu(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return (t.dtype() == DType::f32 || t.dtype() == DType::f64) && t.numel() && t.dim() && is_plain(Tensor(unwrap(o)));
}

// Places (count, taps) and their weights, of x's dtype.
bool taps_of(PyObject* x, PyObject* indices, PyObject* weights) {
  if (!on_cpu(indices) || !on_cpu(weights)) return false;
  const TensorImpl &p = *unwrap(indices), &w = *unwrap(weights);
  return p.dtype() == DType::i64 && w.dtype() == unwrap(x)->dtype() && p.dim() == 2 && p.numel() &&
         std::ranges::equal(p.sizes(), w.sizes()) && p.is_contiguous() && w.is_contiguous();
}

// weighted_taps(self, dim, indices, weights)
PyObject* native_weighted(Operator&, PyObject* const* args, size_t n) {
  if (n != 4 || !wide(args[0]) || !PyLong_CheckExact(args[1]) || !taps_of(args[0], args[2], args[3])) return nullptr;
  const long dim = PyLong_AsLong(args[1]);
  if (dim < 0 || dim >= unwrap(args[0])->dim()) return nullptr;
  return guarded([&] {
    return wrapped(unlocked(unwrap(args[0])->numel(), [&] {
      return weighted(contiguous(Tensor(unwrap(args[0]))), int(dim), Tensor(unwrap(args[2])), Tensor(unwrap(args[3])));
    }));
  });
}

// weighted_taps_backward(grad_output, dim, size, indices, weights)
PyObject* native_spread(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !wide(args[0]) || !PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2]) ||
      !taps_of(args[0], args[3], args[4]))
    return nullptr;
  const long dim = PyLong_AsLong(args[1]), size = PyLong_AsLong(args[2]);
  if (dim < 0 || dim >= unwrap(args[0])->dim() ||
      unwrap(args[0])->sizes()[size_t(dim)] != unwrap(args[3])->sizes()[0] || size < 1)
    return nullptr;
  return guarded([&] {
    return wrapped(unlocked(unwrap(args[0])->numel(), [&] {
      return spread(
          contiguous(Tensor(unwrap(args[0]))), int(dim), size, Tensor(unwrap(args[3])), Tensor(unwrap(args[4])));
    }));
  });
}

bool grid_of(PyObject* x, PyObject* grid, PyObject* const* settings, GridSettings* s) {
  if (!wide(x) || !wide(grid) || !PyLong_CheckExact(settings[0]) || !PyLong_CheckExact(settings[1])) return false;
  const TensorImpl &t = *unwrap(x), &g = *unwrap(grid);
  const long mode = PyLong_AsLong(settings[0]), padding = PyLong_AsLong(settings[1]);
  *s = {mode == 1, int(padding), settings[2] == Py_True};
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2 || t.dtype() != g.dtype() || (t.dim() != 4 && t.dim() != 5) ||
      g.dim() != t.dim())
    return false;
  return g.sizes().back() == t.dim() - 2 && g.sizes()[0] == t.sizes()[0] &&
         t.numel() / (t.sizes()[0] * t.sizes()[1]) < INT32_MAX;
}

// sample_grid(input, grid, mode, padding, align_corners)
PyObject* native_sample(PyObject* const* args, size_t n) {
  GridSettings s;
  if (n != 5 || !grid_of(args[0], args[1], args + 2, &s)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x = contiguous(Tensor(unwrap(args[0]))), grid = contiguous(Tensor(unwrap(args[1])));
    return wrapped(unlocked(grid->numel() * x->sizes()[1], [&] {
      return x->dim() == 4 ? sample_grid(x, grid, s.nearest, s.padding, s.align_corners) : sample_at(x, grid, s);
    }));
  });
}

// sample_grid_backward(grad_output, input, grid, mode, padding, align_corners, of_grid)
PyObject* native_sample_backward(Operator&, PyObject* const* args, size_t n) {
  GridSettings s;
  if (n != 7 || !wide(args[0]) || !grid_of(args[1], args[2], args + 3, &s) ||
      unwrap(args[0])->dtype() != unwrap(args[1])->dtype())
    return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor g = contiguous(Tensor(unwrap(args[0]))), x = contiguous(Tensor(unwrap(args[1]))),
                 grid = contiguous(Tensor(unwrap(args[2])));
    const bool of_grid = args[6] == Py_True;
    if (g->numel() != grid->numel() / (x->dim() - 2) * x->sizes()[1]) return nullptr;
    return wrapped(unlocked(g->numel(), [&] {
      const GridGradients found = sample_at_backward(g, x, grid, s, !of_grid, of_grid);
      return of_grid ? found.grid : found.input;
    }));
  });
}

// grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
PyObject* native_grid_sampler(Operator&, PyObject* const* args, size_t n) {
  if (n == 5 && !history(args, n) && is_tensor(args[0]) && unwrap(args[0])->dim() == 5) return native_sample(args, n);
  if (n != 5 || !images(args[0]) || !on_cpu(args[1]) || history(args, n) || !PyLong_CheckExact(args[2]) ||
      !PyLong_CheckExact(args[3]))
    return nullptr;
  const long mode = PyLong_AsLong(args[2]), padding = PyLong_AsLong(args[3]);
  const Tensor x(unwrap(args[0])), grid(unwrap(args[1]));
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2 || grid->dtype() != x->dtype() || grid->dim() != 4 ||
      grid->sizes()[3] != 2 || !grid->numel())
    return nullptr;
  if (grid->sizes()[0] != x->sizes()[0] || x->sizes()[2] * x->sizes()[3] >= INT32_MAX || !is_plain(grid))
    return nullptr;
  return guarded([&] {
    return wrapped(unlocked(grid->numel() * x->sizes()[1],
        [&] { return sample_grid(x, contiguous(grid), mode == 1, int(padding), args[4] == Py_True); }));
  });
}

}  // namespace

void register_cpu_resample() {
  register_native_cpu("weighted_taps", native_weighted);
  register_native_cpu("weighted_taps_backward", native_spread);
  register_native_cpu("sample_grid", [](Operator&, PyObject* const* args, size_t n) { return native_sample(args, n); });
  register_native_cpu("sample_grid_backward", native_sample_backward);
  register_native_cpu("upsample_nearest2d", native_resize<false, false>);
  register_native_cpu("upsample_nearest2d_vec", native_resize<false, true>);
  register_native_cpu("upsample_bilinear2d", native_resize<true, false>);
  register_native_cpu("upsample_bilinear2d_vec", native_resize<true, true>);
  register_native_cpu("grid_sampler", native_grid_sampler);
}

}  // namespace shim
