// Native fast paths of copies and fills.
#include "cpu/loops.h"
#include "cuda/driver.h"
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
    if (format == MemoryFormat::preserve && where == self->device() && where.is_cpu() && !pinned) return wrap(to_dtype(self, to));
    CHECK(Kind::NotImplemented, where.is_meta() || !self->device().is_meta(), "Cannot copy out of meta tensor; no data!");
    Tensor out;
    const bool keep = format == MemoryFormat::preserve && dense(*self);
    if (keep) out = empty_strided(self->sizes(), self->strides(), to, where, pinned);
    else out = empty(self->sizes(), to, where, pinned, format == MemoryFormat::preserve ? MemoryFormat::contiguous : format);
    copy_(out, self, args[5] == Py_True);
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
