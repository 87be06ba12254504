#pragma once
// What the natives of CUDA tensors share.
#include "python/native_values.h"

namespace shim {

inline bool on_cuda(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cuda(); }
inline bool on_cuda_or_none(PyObject* o) { return o == Py_None || on_cuda(o); }

// self, in place or a copy, after f(self); null if f says no, which leaves self as it was.
template <bool InPlace, class F>
PyObject* changed(PyObject* self, F&& f, MemoryFormat format = MemoryFormat::contiguous) {
  return guarded([&]() -> PyObject* {
    Tensor out(unwrap(self));
    if (!InPlace) out = clone(out, format);
    if (!f(out)) return nullptr;
    return InPlace ? Py_NewRef(self) : wrap(out);
  });
}

}  // namespace shim
