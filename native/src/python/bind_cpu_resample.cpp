// Images at other sizes and at the places of a grid, on the CPU, where no history is kept. What is out of the ordinary is left to the
// records' bodies.
#include "autograd/autograd.h"
#include "cpu/resample.h"
#include "ops/kernels.h"
#include "python/linear_backward.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

bool images(PyObject* o) {
  if (!on_cpu(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return t.dim() == 4 && t.numel() && t.is_contiguous() && !is_complex(t.dtype()) && t.dtype() != DType::b8 && is_plain(Tensor(unwrap(o)));
}

bool scale_of(PyObject* o, double* scale) {     // None, or how many times as large
  *scale = 0;
  if (o == Py_None) return true;
  const double given = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : -1;
  if (!(given > 0)) return false;
  *scale = 1 / given;
  return true;
}

// (self, output_size, [align_corners], scale, scale), (self, output_size or None, [align_corners], scales or None)
template <bool Linear, bool Vector>
PyObject* native_resize(Operator&, PyObject* const* args, size_t n) {
  constexpr size_t kScales = Linear ? 3 : 2;
  if (n != kScales + (Vector ? 1 : 2) || !images(args[0]) || history(args, n)) return nullptr;
  const Tensor x(unwrap(args[0]));
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
    size = {int64_t(double(x->sizes()[2]) * PyFloat_AS_DOUBLE(height)), int64_t(double(x->sizes()[3]) * PyFloat_AS_DOUBLE(width))};
  }
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return nullptr;
  return guarded([&] {
    return wrapped(unlocked(size[0] * size[1] * x->sizes()[0] * x->sizes()[1], [&] {
      return Linear ? resize_linear(x, size[0], size[1], args[2] == Py_True, scales) : resize_nearest(x, size[0], size[1], scales);
    }));
  });
}

// grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
PyObject* native_grid_sampler(Operator&, PyObject* const* args, size_t n) {
  if (n != 5 || !images(args[0]) || !on_cpu(args[1]) || history(args, n) || !PyLong_CheckExact(args[2]) || !PyLong_CheckExact(args[3])) return nullptr;
  const long mode = PyLong_AsLong(args[2]), padding = PyLong_AsLong(args[3]);
  const Tensor x(unwrap(args[0])), grid(unwrap(args[1]));
  if (mode < 0 || mode > 1 || padding < 0 || padding > 2 || grid->dtype() != x->dtype() || grid->dim() != 4 || grid->sizes()[3] != 2 || !grid->numel()) return nullptr;
  if (grid->sizes()[0] != x->sizes()[0] || x->sizes()[2] * x->sizes()[3] >= INT32_MAX || !is_plain(grid)) return nullptr;
  return guarded([&] { return wrapped(unlocked(grid->numel() * x->sizes()[1], [&] { return sample_grid(x, contiguous(grid), mode == 1, int(padding), args[4] == Py_True); })); });
}

}  // namespace

void register_cpu_resample() {
  register_native_cpu("upsample_nearest2d", native_resize<false, false>);
  register_native_cpu("upsample_nearest2d_vec", native_resize<false, true>);
  register_native_cpu("upsample_bilinear2d", native_resize<true, false>);
  register_native_cpu("upsample_bilinear2d_vec", native_resize<true, true>);
  register_native_cpu("grid_sampler", native_grid_sampler);
}

}  // namespace shim
