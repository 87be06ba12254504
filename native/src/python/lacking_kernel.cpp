#include "python/lacking_kernel.h"

#include <algorithm>

#include "ops/out_dtype.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {
namespace {

// The dtype that the error says no kernel has; undefined: another error.
DType lacking_dtype(PyObject* error) {
  if (!PyObject_TypeCheck(error, reinterpret_cast<PyTypeObject*>(PyExc_NotImplementedError))) return DType::undefined;
  OwnedRef found{PyObject_GetAttrString(error, "compute_dtype")};
  if (!found.o) PyErr_Clear();
  return found.o && is_dtype(found.o) ? dtype_of(found.o) : DType::undefined;
}

}  // namespace

void check_before_kernel(const Operator& f, PyObject* const* args, size_t n, const TensorImpl& target, bool in_place) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  const DType t = error ? lacking_dtype(error) : DType::undefined;
  try {
    if (t != DType::undefined) {
      Dims sizes;
      for (size_t i = 0; in_place && i < n; ++i)
        if (is_tensor(args[i])) sizes = broadcast_shapes(sizes, unwrap(args[i])->sizes());
      CHECK(Kind::Runtime, !in_place || std::ranges::equal(sizes, target.sizes()), "output with shape ",
          bracketed(target.sizes()), " doesn't match the broadcast shape ", bracketed(sizes));
      check_result_cast(f, t, target.dtype());
    }
  } catch (...) {
    Py_XDECREF(type), Py_XDECREF(error), Py_XDECREF(trace);
    throw;
  }
  PyErr_Restore(type, error, trace);
}

}  // namespace shim
