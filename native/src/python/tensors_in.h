#pragma once
// The tensors of bound arguments and of results: each object itself, or the items of a list or tuple.
#include "python/object.h"

namespace shim {

// Whether f(TensorImpl&) is true of one of them; it is not asked about those after it.
template <class F> inline bool any_tensor(PyObject* o, F&& f) {
  if (is_tensor(o)) return f(*unwrap(o));
  if (PyList_Check(o) || PyTuple_Check(o))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (PyObject* item = PySequence_Fast_GET_ITEM(o, i); is_tensor(item) && f(*unwrap(item))) return true;
  return false;
}
template <class F> inline bool any_tensor(PyObject* const* args, size_t n, F&& f) {
  for (size_t i = 0; i < n; ++i)
    if (any_tensor(args[i], f)) return true;
  return false;
}
template <class F> inline void each_tensor(PyObject* o, F&& f) {
  any_tensor(o, [&](TensorImpl& t) { return f(t), false; });
}
template <class F> inline void each_tensor(PyObject* const* args, size_t n, F&& f) {
  for (size_t i = 0; i < n; ++i) each_tensor(args[i], f);
}

}  // namespace shim
