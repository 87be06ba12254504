#pragma once
// What the natives of CPU tensors share.
#include <optional>

#include "cpu/parallel.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {

inline bool on_cpu(PyObject* o) { return is_tensor(o) && unwrap(o)->device().is_cpu(); }
inline bool on_cpu_or_none(PyObject* o) { return o == Py_None || on_cpu(o); }
inline Tensor tensor_or_none(PyObject* o) { return o == Py_None ? Tensor{} : Tensor(unwrap(o)); }
inline bool history(PyObject* const* args, size_t n) { return GradMode::enabled() && any_requires_grad(args, n); }

template <class F>
auto unlocked(int64_t elements, F&& f) {        // without the GIL where that pays
  std::optional<GilRelease> released;
  if (elements >= 2 * kGrain) released.emplace();
  return f();
}

inline PyObject* wrapped(const Tensor& t) { return t ? wrap(t) : nullptr; }   // null: not a native's

}  // namespace shim
