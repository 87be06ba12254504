// CPU kernels of pools over volumes and of adaptive pools. What is out of the ordinary is left to the records' bodies.
#include <algorithm>

#include "cpu/pointwise.h"
#include "cpu/pooling.h"
#include "cpu/reduce.h"
#include "python/native_cpu.h"

namespace shim {
namespace {

bool floats_with_elements(PyObject* o) { return plain_floats(o) && unwrap(o)->numel(); }

// (planes, depth, height, width) of the compute dtype, of an input whose last n dims are pooled; null where it has no dims for that.
Tensor as_volumes(const Tensor& x, int n) {
  if (x->dim() < n + 1 || x->dim() > n + 2) return {};
  Dims sizes(4, 1);
  for (int i = 0; i < n; ++i) sizes[size_t(4 - n + i)] = x->sizes()[size_t(x->dim() - n + i)];
  sizes[0] = x->numel() / (sizes[1] * sizes[2] * sizes[3]);
  const DType compute = compute_dtype(x->dtype());
  return view(*contiguous(x->dtype() == compute ? x : to_dtype(x, compute)), sizes);
}

// A result of planes, in the input's dtype and with its leading dims.
Tensor given_back(const Tensor& out, const Tensor& x, int n, DType dtype) {
  Dims sizes(x->sizes().begin(), x->sizes().end());
  for (int i = 0; i < n; ++i) sizes[sizes.size() - size_t(n) + size_t(i)] = out->sizes()[size_t(4 - n + i)];
  const Tensor shaped = view(*out, sizes);
  return shaped->dtype() == dtype ? shaped : to_dtype(shaped, dtype);
}

Spans whole() { return {{0, 1, 1}}; }

// --- adaptive ----------------------------------------------------------------------------------------------------------

bool adaptive_spans(const Tensor& x, int n, PyObject* given, Spans (&spans)[3]) {
  Dims parts;
  if (!PyTuple_Check(given) || !dims_of(given, &parts)) {
    PyErr_Clear();
    return false;
  }
  if (parts.size() != size_t(n)) return false;
  for (int d = 0; d < 3; ++d) {
    if (d < 3 - n) {
      spans[d] = whole();
      continue;
    }
    const int64_t size = x->sizes()[size_t(d + 1)], many = parts[size_t(d - 3 + n)];
    if (many < 1 || many > (int64_t(1) << 24)) return false;
    for (int64_t i = 0; i < many; ++i) {
      const int64_t first = i * size / many, last = ((i + 1) * size + many - 1) / many;
      spans[d].push_back({first, last, last - first});
    }
  }
  return true;
}

template <int n> PyObject* adaptive_max(Operator&, PyObject* const* args, size_t count) {
  if (count != 2 || !floats_with_elements(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), volumes = as_volumes(x, n);
    Spans spans[3];
    if (!volumes || !adaptive_spans(volumes, n, args[1], spans)) return nullptr;
    Tensor indices, out = unlocked(x->numel(), [&] { return box_max(volumes, spans, {1, 1, 1}, &indices); });
    return tuple_of({given_back(out, x, n, x->dtype()), given_back(indices, x, n, DType::i64)});
  });
}

// adaptive_avg_pool(self, output_size), where no history is kept
template <int n> PyObject* adaptive_mean_of(Operator&, PyObject* const* args, size_t count) {
  if (count != 2 || !floats_with_elements(args[0]) || history(args, count)) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), volumes = as_volumes(x, n);
    Spans spans[3];
    if (!volumes || !adaptive_spans(volumes, n, args[1], spans)) return nullptr;
    if (n == 2 && spans[1].size() == 1 && spans[2].size() == 1)
      return wrapped(reduce(Reduction::mean, x, Dims{-1, -2}, true, DType::undefined));
    return wrap(given_back(unlocked(x->numel(), [&] { return box_mean(volumes, spans, 0); }), x, n, x->dtype()));
  });
}

// --- windows of volumes ------------------------------------------------------------------------------------------------

struct Windows {
  Dims kernel, stride, padding, dilation;
};

bool three_of(PyObject* o, int64_t least, Dims* to) {
  if (!dims_of(o, to)) {
    PyErr_Clear();
    return false;
  }
  if (to->size() == 1) to->resize(3, to->front());
  return to->size() == 3 &&
         std::all_of(to->begin(), to->end(), [&](int64_t v) { return v >= least && v < (int64_t(1) << 30); });
}

// Settings that nothing is wrong with; `dilation` null: 1.
bool windows_of(PyObject* kernel, PyObject* stride, PyObject* padding, PyObject* dilation, Windows* w) {
  if (!three_of(kernel, 1, &w->kernel) || !three_of(padding, 0, &w->padding)) return false;
  if (PySequence_Size(stride) == 0)
    w->stride = w->kernel;
  else if (!three_of(stride, 1, &w->stride))
    return false;
  if (!dilation)
    w->dilation = Dims(3, 1);
  else if (!three_of(dilation, 1, &w->dilation))
    return false;
  for (size_t d = 0; d < 3; ++d)
    if (w->padding[d] > ((w->kernel[d] - 1) * w->dilation[d] + 1) / 2) return false;
  return true;
}

bool window_spans(const Tensor& x, const Windows& w, bool ceil_mode, bool include_pad, Spans (&spans)[3]) {
  for (size_t d = 0; d < 3; ++d) {
    const int64_t size = x->sizes()[d + 1], reach = w.dilation[d] * (w.kernel[d] - 1) + 1,
                  room = size + 2 * w.padding[d] - reach;
    if (room < 0) return false;
    int64_t many = (ceil_mode ? (room + w.stride[d] - 1) / w.stride[d] : room / w.stride[d]) + 1;
    if (ceil_mode && (many - 1) * w.stride[d] >= size + w.padding[d]) --many;
    if (many < 1) return false;
    for (int64_t i = 0; i < many; ++i) {
      const int64_t start = i * w.stride[d] - w.padding[d], end = std::min(start + reach, size + w.padding[d]);
      // The first place inside that the window's steps reach.
      const int64_t skipped = start < 0 ? (-start + w.dilation[d] - 1) / w.dilation[d] : 0,
                    first = start + skipped * w.dilation[d];
      const int64_t last = std::min(end, size);
      spans[d].push_back({first, last, include_pad ? end - start : last - first});
    }
  }
  return true;
}

// max_pool3d_with_indices(self, kernel, stride, padding, dilation, ceil_mode)
PyObject* max_of_windows(Operator&, PyObject* const* args, size_t count) {
  if (count != 6 || !floats_with_elements(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), volumes = as_volumes(x, 3);
    Windows w;
    Spans spans[3];
    if (!volumes || !windows_of(args[1], args[2], args[3], args[4], &w) ||
        !window_spans(volumes, w, args[5] == Py_True, false, spans))
      return nullptr;
    const int64_t step[3] = {w.dilation[0], w.dilation[1], w.dilation[2]};
    Tensor indices, out = unlocked(x->numel(), [&] { return box_max(volumes, spans, step, &indices); });
    return tuple_of({given_back(out, x, 3, x->dtype()), given_back(indices, x, 3, DType::i64)});
  });
}

// max_pool3d: its values, where no history is kept
PyObject* maxima_of_windows(Operator& op, PyObject* const* args, size_t count) {
  return history(args, count) ? nullptr : first_of(max_of_windows(op, args, count));
}

// avg_pool3d(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override), where no history is kept
PyObject* mean_of_windows(Operator&, PyObject* const* args, size_t count) {
  if (count != 7 || !floats_with_elements(args[0]) || history(args, count)) return nullptr;
  const int64_t divisor = args[6] == Py_None ? 0 : PyLong_Check(args[6]) ? PyLong_AsLongLong(args[6]) : -1;
  if ((args[6] != Py_None && divisor == 0) || unwrap(args[0])->itemsize() == 2)
    return nullptr;  // the record refuses them
  return guarded([&]() -> PyObject* {
    const Tensor x(unwrap(args[0])), volumes = as_volumes(x, 3);
    Windows w;
    Spans spans[3];
    if (!volumes || !windows_of(args[1], args[2], args[3], nullptr, &w) ||
        !window_spans(volumes, w, args[4] == Py_True, args[5] == Py_True, spans))
      return nullptr;
    return wrap(given_back(unlocked(x->numel(), [&] { return box_mean(volumes, spans, divisor); }), x, 3, x->dtype()));
  });
}

}  // namespace

void register_cpu_pools() {
  register_native_cpu("adaptive_max_pool1d", adaptive_max<1>);
  register_native_cpu("adaptive_max_pool2d", adaptive_max<2>);
  register_native_cpu("adaptive_max_pool3d", adaptive_max<3>);
  register_native_cpu("adaptive_avg_pool1d", adaptive_mean_of<1>);
  register_native_cpu("adaptive_avg_pool2d", adaptive_mean_of<2>);
  register_native_cpu("adaptive_avg_pool3d", adaptive_mean_of<3>);
  register_native_cpu("max_pool3d_with_indices", max_of_windows);
  register_native_cpu("max_pool3d", maxima_of_windows);
  register_native_cpu("avg_pool3d", mean_of_windows);
}

}  // namespace shim
