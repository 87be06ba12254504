#pragma once
// Between the files that run records' bodies over NumPy arrays. How a body is called is made once by Python (table.plan.Plan).
#include <vector>

#include "python/object.h"

namespace shim {

struct BodyRule {
  PyObject* function = nullptr;  // null: there is none
  bool takes_all = false;        // every operand, not the arguments at `at`
  std::vector<int> at;
};

struct BodyPlan {
  PyObject* python = nullptr;  // shim_torch._impl.table.plan.Plan
  PyObject* body = nullptr;
  std::vector<int> places;  // bound arguments in the body's order, keyword ones last
  Py_ssize_t positional = 0;
  PyObject* keywords = nullptr;    // names of the keyword ones, or null
  std::vector<bool> tensor, keep;  // of each bound argument
  BodyRule shape, dtype;
  int results = 0;  // how many tensors the body gives; 0: something else
  int device_at = -1;
  bool pointwise = false;  // results lie in memory as their operands do
};

struct BodyRunner {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* make_plan;  // () -> Plan
  PyObject* execute;    // (Plan, bound)
  PyObject* finish;     // (Plan, value, shape, dtype, tensors, arrays)
  PyObject* scalar;     // (number, dtype) -> 0-d array
  BodyPlan* plan;
};

BodyPlan* plan_of(BodyRunner&);  // asked for where it is not there yet; throws PythonError

PyObject* array_of(TensorImpl* t);  // bind_numpy.cpp: an array over the tensor's memory
PyObject* tensor_over(
    PyObject* array, IntArrayRef sizes, DType);  // a tensor over a contiguous array's memory, its own to resize
DType dtype_of_array(PyObject* array);           // undefined: a dtype that tensors do not have
PyObject* aligned_handler();                     // bind_run.cpp: NumPy's memory handler that aligns to 64 bytes

}  // namespace shim
