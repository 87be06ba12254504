// The module's functions over the native kernels, and the operators that the autograd engine needs.
#include <string_view>

#include "autograd/autograd.h"
#include "autograd/operator_node.h"
#include "core/math_bits.h"
#include "cpu/parallel.h"
#include "cpu/philox.h"
#include "kernels/registry.h"
#include "ops/gemm_problem.h"
#include "ops/device_copy.h"
#include "ops/kernels.h"
#include "python/dispatch.h"
#include "python/schema_function.h"

namespace shim {
namespace {

DType result_type_of(Rest given) {
  Promotion p;
  Values values;
  for (PyObject* const& o : given) {
    const Value v = values.of(o);
    if (v.tag == Value::tensor)
      p.add(*v.t);
    else if (v.tag == Value::dtype)
      p.add(DType(v.i), 1, false);
    else if (v.is_number())
      p.add(v.number());
    else
      fail(Kind::Type, "result_type(): argument ", &o - given.args + 1, " must be a tensor or a number, not ",
          Py_TYPE(o)->tp_name);
  }
  CHECK(Kind::Type, p.result() != DType::undefined, "result_type() takes at least 1 argument");
  return p.result();
}

void check_number_fits(const Value& number, DType dtype) {
  if (number.is_number()) check_fits(number.number(), dtype);
}

std::string name_of_scalar(DType dtype) { return scalar_name(dtype); }

PyObject* py_set_num_threads(PyObject*, PyObject* value) {
  if (!PyLong_Check(value) || PyBool_Check(value))
    return PyErr_Format(PyExc_RuntimeError, "set_num_threads expects an int, but got %s", Py_TYPE(value)->tp_name);
  int64_t n;
  if (!unpack_int(value, &n)) return nullptr;
  if (n > INT32_MAX) return PyErr_Format(PyExc_ValueError, "Overflow when unpacking long");
  if (n <= 0) return PyErr_Format(PyExc_RuntimeError, "set_num_threads expects a positive integer");
  set_num_threads(int(n));
  gemm::set_cpu_threads(int(n));
  Py_RETURN_NONE;
}

void fill_philox_words(uint64_t seed, uint64_t offset, PyObject* buffer) {  // contiguous, of 16 bytes a block
  Py_buffer out;
  if (PyObject_GetBuffer(buffer, &out, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) throw PythonError();
  Py_BEGIN_ALLOW_THREADS philox_words(seed, offset, out.len / 16, static_cast<uint32_t*>(out.buf));
  Py_END_ALLOW_THREADS PyBuffer_Release(&out);
}

const ModulePart kernels_functions{
    {function<&result_type_of>("result_type", "The dtype in which tensors and numbers meet."),
        function<&check_number_fits>("check_fits", "RuntimeError where the dtype cannot hold the number."),
        function<&name_of_scalar>("scalar_name", "A dtype as PyTorch's error texts name it: Float, Long."),
        schema_function<[](DType a, DType b) { return promote(a, b); },
            "promote_types(ScalarType type1, ScalarType type2)">("The smallest dtype that both dtypes promote to."),
        schema_function<[](DType from, DType to) { return can_cast(from, to); },
            "can_cast(ScalarType from_, ScalarType to)">("Whether a cast keeps the kind of number."),
        function<&num_threads>("get_num_threads", "How many threads a large CPU kernel uses."),
        {"set_num_threads", py_set_num_threads, METH_O, "Sets how many threads a large CPU kernel uses."},
        function<&fill_philox_words>(
            "philox_words", "(seed, offset, out): fills a buffer with blocks of a seed's Philox4x32-10 stream.")},
    [](PyObject*) { return register_kernels(), 0; }};

}  // namespace

}  // namespace shim
