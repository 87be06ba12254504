#pragma once
// What Python keeps with the operators of the table (ops/operator.h), and how their kernels are called.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "ops/operator.h"

namespace shim {

struct Slot {                        // what binding needs of an argument, made once
  PyObject* name = nullptr;          // interned
  PyObject* python_name = nullptr;   // interned: of torch's function and the tensor's method
  PyObject* alternatives = nullptr;  // a tuple of NumPy's words for it (axis, keepdims, x2), or null
  PyObject* fallback = nullptr;      // the default as a Python object; null: required
  bool is_self = false;              // named `input` in torch.f(...)
  bool number_ok = false;            // a Python number may stand for the tensor
  bool none_ok = false;              // None is an undefined tensor, as library operators get it
};

struct PythonOperator final : Operator {  // every one in the table
  std::vector<Slot> slots;
  PyObject* record = nullptr;          // the Python record, or null
  PyObject* run = nullptr;             // Python callable: bound arguments in schema order -> result
  PyObject* dispatch_parts = nullptr;  // what it runs as where __torch_dispatch__ looks on: PyTorch has a composite
  PyObject* sparse_run = nullptr;

  std::unique_ptr<Operator> sharing() const override;  // references are shared, for as long as the table lives
  void prepare(const std::vector<bool>& numbers = {}) override;  // slots of the schema; throws PythonError
};
inline PythonOperator& python_of(Operator& op) { return static_cast<PythonOperator&>(op); }
inline const PythonOperator& python_of(const Operator& op) { return static_cast<const PythonOperator&>(op); }

}  // namespace shim
