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
#include "python/module_function.h"
#include "python/owned_ref.h"
#include "python/native_ops.h"

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

// The two dtypes of a call, by place or by name; false: a Python error is set.
bool two_dtypes(const char* function, const char* const (&names)[2], PyObject* const* args, Py_ssize_t n,
    PyObject* keywords, DType (&found)[2]) {
  PyObject* given[2] = {};
  if (n > 2) return PyErr_Format(PyExc_TypeError, "%s() takes 2 positional arguments but %zd were given", function, n);
  for (Py_ssize_t i = 0; i < n; ++i) given[i] = args[i];
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* word = PyTuple_GET_ITEM(keywords, k);
    int at = PyUnicode_CompareWithASCIIString(word, names[0]) == 0   ? 0
             : PyUnicode_CompareWithASCIIString(word, names[1]) == 0 ? 1
                                                                     : -1;
    if (at < 0 || given[at])
      return PyErr_Format(PyExc_TypeError,
          at < 0 ? "%s() got an unexpected keyword argument '%U'" : "%s() got multiple values for argument '%U'",
          function, word);
    given[at] = args[n + k];
  }
  if (!given[0] && !given[1])
    return PyErr_Format(
        PyExc_TypeError, "%s() missing 2 required positional arguments: \"%s\", \"%s\"", function, names[0], names[1]);
  for (int i = 0; i < 2; ++i) {
    if (!given[i])
      return PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"%s\"", function, names[i]);
    if (!is_dtype(given[i]))
      return PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be torch.dtype, not %s", function,
          names[i], i + 1, Py_TYPE(given[i])->tp_name);
    found[i] = dtype_of(given[i]);
  }
  return true;
}

PyObject* py_promote_types(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  DType types[2];
  if (!two_dtypes("promote_types", {"type1", "type2"}, args, n, keywords, types)) return nullptr;
  return guarded([&]() -> PyObject* { return dtype_object(promote(types[0], types[1])); });
}

PyObject* py_can_cast(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  DType types[2];
  if (!two_dtypes("can_cast", {"from_", "to"}, args, n, keywords, types)) return nullptr;
  return PyBool_FromLong(can_cast(types[0], types[1]));
}

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

PyMethodDef kernels_functions[] = {
    function<&result_type_of>("result_type", "The dtype in which tensors and numbers meet."),
    function<&check_number_fits>("check_fits", "RuntimeError where the dtype cannot hold the number."),
    function<&name_of_scalar>("scalar_name", "A dtype as PyTorch's error texts name it: Float, Long."),
    raw_function("promote_types", py_promote_types, "The smallest dtype that both dtypes promote to."),
    raw_function("can_cast", py_can_cast, "Whether a cast keeps the kind of number."),
    function<&num_threads>("get_num_threads", "How many threads a large CPU kernel uses."),
    {"set_num_threads", py_set_num_threads, METH_O, "Sets how many threads a large CPU kernel uses."},
    function<&fill_philox_words>(
        "philox_words", "(seed, offset, out): fills a buffer with blocks of a seed's Philox4x32-10 stream."),
    {}};

}  // namespace

int bind_kernels(PyObject* module) {
  register_kernels();
  return PyModule_AddFunctions(module, kernels_functions) < 0 || bind_numbers(module) < 0 ||
                 bind_cpu_formulas(module) < 0 || bind_cpu_random(module) < 0 || bind_cuda_kernels(module) < 0 ||
                 bind_cuda_foreach(module) < 0 || bind_optimizers(module) < 0 || bind_cuda_convolution(module) < 0 ||
                 bind_cuda_recurrent(module) < 0
             ? -1
             : bind_getitem(module);
}

}  // namespace shim
