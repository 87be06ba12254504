// torch.tensor of Python numbers.
#include <cstdlib>

#include "core/uninitialized.h"
#include "ops/elements.h"
#include "python/module_function.h"

namespace shim {

namespace {

struct Flat {  // nested sequences of numbers, in order
  Dims shape;
  std::vector<Scalar> numbers;
};

bool plain_int(PyObject* o, int64_t* out) {  // an int of Python that a double holds; false for others
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return !overflow && std::abs(*out) < (int64_t(1) << 53);
}

bool flatten(PyObject* data, size_t depth, Flat* flat) {  // false: not for here
  if (PyList_CheckExact(data) || PyTuple_CheckExact(data)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
    if (n == 0 || depth > 8) return false;
    if (flat->shape.size() == depth) {
      if (!flat->numbers.empty()) return false;  // a number stood at this depth
      flat->shape.push_back(n);
    } else if (flat->shape[depth] != n) {
      return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!flatten(PySequence_Fast_GET_ITEM(data, i), depth + 1, flat)) return false;
    return true;
  }
  Scalar number;
  if (depth != flat->shape.size()) return false;
  if (PyBool_Check(data))
    number = Scalar{Scalar::Bool, data == Py_True};
  else if (PyFloat_CheckExact(data))
    number = Scalar{Scalar::Float, 0, PyFloat_AS_DOUBLE(data)};
  else if (!plain_int(data, &number.i))
    return false;
  flat->numbers.push_back(number);
  return true;
}

// A CPU tensor, or None: something else than numbers, or a cast that may be refused.
Tensor tensor_from_numbers(PyObject* data, std::optional<PyObject*> dtype) {
  Flat flat;
  if (!flatten(data, 0, &flat)) return {};
  return tensor_of_numbers(flat.shape, flat.numbers, dtype ? dtype_of(*dtype) : DType::undefined);
}

const ModulePart kernels_memory_functions{{function<[](Truth on) { fill_uninitialized = on; }>("set_fill_uninitialized",
                                               "Whether memory that isn't written gets a fixed value."),
    function<&tensor_from_numbers>("tensor_from_numbers", "(data, dtype or None)")}};

}  // namespace

}  // namespace shim
