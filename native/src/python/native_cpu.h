#pragma once
// What the natives of CPU tensors share.
#include <optional>

#include "cpu/parallel.h"
#include "python/native_values.h"

namespace shim {

inline bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }
// Real floats of two bytes or more in no other order than their dims'. (A result in channels last is the bodies' work.)
inline bool plain_floats(PyObject* o) {
  if (!on_cpu(o)) return false;
  const TensorImpl& t = *unwrap(o);
  return is_floating(t.dtype()) && t.itemsize() > 1 && suggest_memory_format(t) == MemoryFormat::contiguous;
}

template <class F> PyObject* computed(int64_t elements, F&& f) { return wrapped(unlocked(elements, f)); }

}  // namespace shim
