// torch.tensor of Python numbers.
#include <cstdlib>

#include "core/sparse.h"
#include "cpu/loops.h"
#include "cuda/driver.h"
#include "python/dispatch.h"
#include "python/tensor_type.h"
#include "python/module_function.h"
#include "core/uninitialized.h"

namespace shim {

namespace {

struct Flat {  // nested sequences of numbers, in order
  Dims shape;
  std::vector<Scalar> numbers;
  bool floats = false, ints = false;
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
  flat->floats |= number.type == Scalar::Float;
  flat->ints |= number.type == Scalar::Int;
  flat->numbers.push_back(number);
  return true;
}

// A CPU tensor, or None: something else than numbers, or a cast that may be refused.
Tensor tensor_from_numbers(PyObject* data, std::optional<PyObject*> dtype) {
  Flat flat;
  if (!flatten(data, 0, &flat)) return {};
  const DType natural = flat.floats ? default_dtype() : flat.ints ? DType::i64 : DType::b8;
  const DType t = dtype ? dtype_of(*dtype) : natural;
  const bool wide =
      t == DType::f32 || t == DType::f64 || t == DType::bf16 || t == DType::b8 || (t == DType::i64 && !flat.floats);
  if (!wide && t != natural) return {};
  Tensor out = empty(flat.shape, t, Device{});
  char* to = static_cast<char*>(out->data());
  for (const Scalar& number : flat.numbers) {
    store_number(to, t, number);
    to += out->itemsize();
  }
  return out;
}

const ModulePart kernels_memory_functions{{function<[](Truth on) { fill_uninitialized = on; }>("set_fill_uninitialized",
                                               "Whether memory that isn't written gets a fixed value."),
    function<&tensor_from_numbers>("tensor_from_numbers", "(data, dtype or None)")}};

}  // namespace

}  // namespace shim
