#pragma once
// What the natives of CPU tensors share.
#include <optional>

#include "cpu/parallel.h"
#include "python/native_values.h"

namespace shim {

inline bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }
inline bool on_cpu_or_none(PyObject* o) { return o == Py_None || on_cpu(o); }

template <class F> PyObject* computed(int64_t elements, F&& f) { return wrapped(unlocked(elements, f)); }

}  // namespace shim
