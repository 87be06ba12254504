// Native fast paths of copies and fills.
#include "python/native_ops.h"

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
  Number value;
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
    fill_(Tensor(unwrap(args[0])), Number{Number::Int, 0});
    return Py_NewRef(args[0]);
  });
}

PyObject* native_clone(Operator&, PyObject* const* args, size_t n) {
  if (n < 1 || n > 2 || !is_tensor(args[0]) || unwrap(args[0])->device().is_meta()) return nullptr;
  MemoryFormat format = MemoryFormat::preserve;
  if (n == 2 && args[1] != Py_None && !memory_format_of(args[1], &format)) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(clone(Tensor(unwrap(args[0])), format)); });
}

// _to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format) that only casts, on the CPU.
PyObject* native_to_copy(Operator&, PyObject* const* args, size_t n) {
  if (n != 7 || !is_tensor(args[0]) || !unwrap(args[0])->device().is_cpu() || args[4] == Py_True) return nullptr;
  if (args[3] != Py_None && !(is_device(args[3]) && device_of(args[3]).is_cpu())) return nullptr;
  MemoryFormat format = MemoryFormat::preserve;
  if (args[6] != Py_None && !memory_format_of(args[6], &format)) return nullptr;
  if (args[1] != Py_None && !is_dtype(args[1])) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor self(unwrap(args[0]));
    const DType to = args[1] == Py_None ? self->dtype() : dtype_of(args[1]);
    if (format == MemoryFormat::preserve) return wrap(to_dtype(self, to));
    Tensor out = empty(self->sizes(), to, self->device(), false, format);
    copy_(out, self);
    return wrap(out);
  });
}

}  // namespace

void register_memory() {
  register_native("_to_copy", native_to_copy);
  register_native("copy_", native_copy_in_place);
  register_native("fill_", native_fill_in_place);
  register_native("zero_", native_zero_in_place);
  register_native("clone", native_clone);
}

}  // namespace shim
