// Native fast paths of copies and fills.
#include <cmath>
#include <cstdlib>

#include "core/sparse.h"
#include "cpu/arange.h"
#include "cpu/loops.h"
#include "cuda/driver.h"
#include "cuda/rows.h"
#include "python/native_values.h"
#include "python/uninitialized.h"

namespace shim {

namespace {

PyObject* native_copy_in_place(Operator&, PyObject* const* args, size_t n) {
  if (n < 2 || !is_tensor(args[0]) || !is_tensor(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    copy_(Tensor(unwrap(args[0])), Tensor(unwrap(args[1])), n > 2 && args[2] == Py_True);
    return Py_NewRef(args[0]);
  });
}

PyObject* native_fill_in_place(Operator&, PyObject* const* args, size_t n) {
  Scalar value;
  if (n != 2 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[1], &value)) return nullptr;
    fill_(Tensor(unwrap(args[0])), value);
    return Py_NewRef(args[0]);
  });
}

PyObject* native_zero_in_place(Operator&, PyObject* const* args, size_t n) {
  if (n != 1 || !is_tensor(args[0])) return nullptr;
  return guarded([&]() -> PyObject* {
    fill_(Tensor(unwrap(args[0])), Scalar{Scalar::Int, 0});
    return Py_NewRef(args[0]);
  });
}

PyObject* native_clone(Operator&, PyObject* const* args, size_t n) {
  if (n < 1 || n > 2 || !is_tensor(args[0]) || unwrap(args[0])->device().is_meta()) return nullptr;
  MemoryFormat format = MemoryFormat::preserve;
  if (n == 2 && args[1] != Py_None && !memory_format_of(args[1], &format)) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(clone(Tensor(unwrap(args[0])), format)); });
}

// Where a tensor asked for on `d` really is: "cuda" is the current GPU, "cpu:0" the CPU.
Device placed(Device d) {
  if (d.is_cuda()) return d.index < 0 ? Device{d.type, int8_t(cuda::current_device())} : d;
  return Device{d.type, -1};
}

// _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format)
PyObject* native_to_copy(Operator&, PyObject* const* args, size_t n) {
  if (n != 7 || !is_tensor(args[0])) return nullptr;
  MemoryFormat format = MemoryFormat::preserve;
  if (args[6] != Py_None && !memory_format_of(args[6], &format)) return nullptr;
  if (args[1] != Py_None && !is_dtype(args[1])) return nullptr;
  if (args[3] != Py_None && !is_device(args[3])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const DType to = args[1] == Py_None ? self->dtype() : dtype_of(args[1]);
    const Device where = args[3] == Py_None ? self->device() : placed(device_of(args[3]));
    const bool pinned = args[4] == Py_True;
    if (format == MemoryFormat::preserve && where == self->device() && where.is_cpu() && !pinned)
      return wrap(to_dtype(self, to));
    CHECK(
        Kind::NotImplemented, where.is_meta() || !self->device().is_meta(), "Cannot copy out of meta tensor; no data!");
    Tensor out;
    const bool keep = format == MemoryFormat::preserve && dense(*self);
    if (keep)
      out = empty_strided(self->sizes(), self->strides(), to, where, pinned);
    else
      out =
          empty(self->sizes(), to, where, pinned, format == MemoryFormat::preserve ? MemoryFormat::contiguous : format);
    copy_(out, self, args[5] == Py_True);
    return wrap(out);
  });
}

bool plain_type(PyObject* o) { return is_tensor_exact(o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType; }

// to(self, dtype | other, non_blocking, copy, memory_format), to(self, device, dtype, non_blocking, copy, memory_format): where there is
// nothing to do.
PyObject* native_to(Operator&, PyObject* const* args, size_t n) {
  if ((n != 5 && n != 6) || !plain_type(args[0]) || args[n - 2] != Py_False || args[n - 1] != Py_None) return nullptr;
  const TensorImpl& self = *unwrap(args[0]);
  DType dtype = self.dtype();
  Device device = self.device();
  if (n == 6) {
    if (args[1] != Py_None && !is_device(args[1])) return nullptr;
    if (args[1] != Py_None) device = device_of(args[1]);
    if (device.is_cpu()) device.index = self.device().index;
    if (args[2] != Py_None) dtype = dtype_of(args[2]);
  } else if (is_dtype(args[1])) {
    dtype = dtype_of(args[1]);
  } else {
    if (!plain_type(args[1])) return nullptr;
    dtype = unwrap(args[1])->dtype(), device = unwrap(args[1])->device();
  }
  return dtype == self.dtype() && device == self.device() ? Py_NewRef(args[0]) : nullptr;
}

// contiguous(self, memory_format) of what is so already
PyObject* native_contiguous(Operator&, PyObject* const* args, size_t n) {
  MemoryFormat format = MemoryFormat::contiguous;
  if (n != 2 || !plain_type(args[0]) || !memory_format_of(args[1], &format) || format != MemoryFormat::contiguous ||
      is_sparse(*unwrap(args[0])))
    return nullptr;
  return unwrap(args[0])->is_contiguous() ? Py_NewRef(args[0]) : nullptr;
}

// empty_like(self, dtype, layout, device, pin_memory, memory_format), filled with `value` where there is one.
PyObject* made_like(PyObject* const* args, size_t n, const Scalar* value) {
  if (fill_uninitialized && !value) return nullptr;  // the body of the record fills it
  if (n != 6 || !is_tensor(args[0]) || args[2] != Py_None || args[4] == Py_True) return nullptr;
  MemoryFormat format = MemoryFormat::preserve;
  if (args[5] != Py_None && !memory_format_of(args[5], &format)) return nullptr;
  if ((args[1] != Py_None && !is_dtype(args[1])) || (args[3] != Py_None && !is_device(args[3]))) return nullptr;
  return guarded([&]() -> PyObject* {
    TensorImpl* self = unwrap(args[0]);
    const bool keep = format == MemoryFormat::preserve;
    if (keep && !dense(*self)) return nullptr;
    const DType t = args[1] == Py_None ? self->dtype() : dtype_of(args[1]);
    const Device where = args[3] == Py_None ? self->device() : placed(device_of(args[3]));
    Tensor out =
        keep ? empty_strided(self->sizes(), self->strides(), t, where) : empty(self->sizes(), t, where, false, format);
    if (value) fill_(out, *value);
    return wrap(out);
  });
}

PyObject* native_empty_like(Operator&, PyObject* const* args, size_t n) { return made_like(args, n, nullptr); }

template <int value> PyObject* native_filled_like(Operator&, PyObject* const* args, size_t n) {
  const Scalar number{Scalar::Int, value};
  return made_like(args, n, &number);
}

}  // namespace

bool plain_int(PyObject* o, int64_t* out) {
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow && std::abs(*out) < (int64_t(1) << 53);
}

namespace {

// A Python float, or an int that a double holds.
bool plain_double(PyObject* o, double* value) {
  int64_t i;
  if (PyFloat_CheckExact(o)) return *value = PyFloat_AS_DOUBLE(o), std::isfinite(*value);
  return plain_int(o, &i) && (*value = double(i), true);
}

// Over numbers of which one is a float, to float32 or float64 on the CPU.
PyObject* float_arange(PyObject* const* args, size_t n) {
  double start = 0, end, step = 1;
  if (!plain_double(args[n == 5 ? 0 : 1], &end) || (n > 5 && !plain_double(args[0], &start)) ||
      (n > 6 && !plain_double(args[2], &step)))
    return nullptr;
  PyObject *dtype = args[n - 4], *device = args[n - 2];
  if ((dtype != Py_None && !is_dtype(dtype)) || args[n - 1] == Py_True || step == 0 || (end - start) * step < 0)
    return nullptr;
  if (device != Py_None && !(is_device(device) && device_of(device).is_cpu())) return nullptr;
  return guarded([&]() -> PyObject* {
    const DType t = dtype == Py_None ? default_dtype() : dtype_of(dtype);
    const double count = std::ceil((end - start) / step);
    if ((t != DType::f32 && t != DType::f64) || !(count < 0x1p53)) return nullptr;
    const int64_t size = int64_t(count);
    Tensor out = empty(IntArrayRef(&size, 1), t, Device{});
    fill_range(out, start, step);
    return wrap(out);
  });
}

// arange(end | start, end | start, end, step; dtype, layout, device, pin_memory)
PyObject* native_arange(Operator&, PyObject* const* args, size_t n) {
  int64_t start = 0, end, step = 1;
  if (n < 5 || n > 7) return nullptr;
  for (size_t i = 0; i < n - 4; ++i)
    if (PyFloat_CheckExact(args[i])) return float_arange(args, n);
  if (!plain_int(args[n == 5 ? 0 : 1], &end)) return nullptr;
  if ((n > 5 && !plain_int(args[0], &start)) || (n > 6 && !plain_int(args[2], &step)) || step == 0 ||
      (step > 0 ? end < start : end > start))
    return nullptr;
  PyObject *dtype = args[n - 4], *device = args[n - 2];
  if ((dtype != Py_None && !is_dtype(dtype)) || args[n - 1] == Py_True) return nullptr;
  const Device where = device == Py_None   ? Device{}
                       : is_device(device) ? placed(device_of(device))
                                           : Device{DeviceType::meta, -1};
  if (!where.is_cpu() && !where.is_cuda()) return nullptr;
  return guarded([&]() -> PyObject* {
    const DType t = dtype == Py_None ? DType::i64 : dtype_of(dtype);
    const int64_t size = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    if (t != DType::i64 && t != DType::i32 && t != DType::f32 && t != DType::f64) return nullptr;
    if (where.is_cuda()) {
      Tensor made = cuda::arange(start, step, size, t, where);
      return wrapped(made);
    }
    Tensor out = empty(IntArrayRef(&size, 1), t, Device{});
    fill_range(out, double(start), double(step));
    return wrap(out);
  });
}

// linspace(start, end, steps, dtype, layout, device, pin_memory) of numbers in float32 or float64, from both ends to the middle.
PyObject* native_linspace(Operator&, PyObject* const* args, size_t n) {
  Scalar first, last;
  int64_t steps;
  if (n != 7 || is_tensor(args[0]) || is_tensor(args[1]) || !plain_int(args[2], &steps) || steps < 2 ||
      args[6] == Py_True)
    return nullptr;
  if ((args[3] != Py_None && !is_dtype(args[3])) ||
      (args[5] != Py_None && !(is_device(args[5]) && device_of(args[5]).is_cpu())))
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (!number_of(args[0], &first) || !number_of(args[1], &last) || first.type == Scalar::Complex ||
        last.type == Scalar::Complex)
      return nullptr;
    const DType t = args[3] == Py_None ? default_dtype() : dtype_of(args[3]);
    if (t != DType::f32 && t != DType::f64) return nullptr;
    Tensor out = empty(IntArrayRef(&steps, 1), t, Device{});
    const double start = first.to_double(), end = last.to_double(), step = (end - start) / double(steps - 1);
    auto run = [&]<class T>(T* to) {
      const int64_t half = (steps + 1) / 2;
      for (int64_t i = 0; i < half; ++i) to[i] = T(start + step * double(i));
      for (int64_t i = half; i < steps; ++i) to[i] = T(end - step * double(steps - 1 - i));
    };
    t == DType::f32 ? run(out->data_as<float>()) : run(out->data_as<double>());
    return wrap(out);
  });
}

}  // namespace

void register_memory() {
  register_native("arange", native_arange);
  register_native_cpu("linspace", native_linspace);
  register_native("empty_like", native_empty_like);
  register_native("zeros_like", native_filled_like<0>);
  register_native("ones_like", native_filled_like<1>);
  register_native("_to_copy", native_to_copy);
  register_native("copy_", native_copy_in_place);
  register_native("fill_", native_fill_in_place);
  register_native("zero_", native_zero_in_place);
  register_native("clone", native_clone);
  register_native("to", native_to);
  register_native("contiguous", native_contiguous);
}

}  // namespace shim
