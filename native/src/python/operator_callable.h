#pragma once
// The callables of the operator table: torch.f, Tensor.f and torch.ops.ns.f.
#include <string>
#include <vector>

#include "python/dispatch.h"

namespace shim {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  const std::vector<Operator*>* candidates;
  Operator* single;  // of an OpOverload: this overload only
  Form form;
  PyObject *name, *qualname, *module, *doc, *dict, *weakrefs;
  PyObject* public_form;  // of __add__: Tensor.add, which __torch_function__ sees
  bool reflected;         // __rsub__: the operands are swapped
  bool reciprocal;        // __rtruediv__: the product of the tensor's reciprocal and the other
  bool of_tensors;        // __rmul__, which PyTorch has as a descriptor of its tensor type
};

// Vectorcalls (operator_call.cpp): of an operator by its name, and behind a symbol such as x + y.
PyObject* call_callable(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);
PyObject* call_symbol(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// The types (operator_type.cpp).
extern PyTypeObject *OperatorFunctionType, *OperatorMethodType, *OperatorCallType;
PyObject* make_callable(PyTypeObject* type, const std::string& qualified, Form form, const char* module);
int make_callable_types();

}  // namespace shim
