// Calls of the operator table's callables.
#include <cstring>
#include <vector>

#include "autograd/operator_node.h"
#include "ops/default_device.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/operator_callable.h"
#include "python/override.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

// As torch.ops gives them: a list of tensors as a list, several results as a plain tuple.
PyObject* plain_results(const Operator& op, PyObject* result) {
  if (!result || !PyTuple_Check(result)) return result;
  const bool list = op.schema.returns.size() == 1 && op.schema.returns[0].type.list;
  if (!list && PyTuple_CheckExact(result)) return result;
  PyObject* plain = list ? PySequence_List(result) : PyTuple_GetSlice(result, 0, PyTuple_GET_SIZE(result));
  Py_DECREF(result);
  return plain;
}

// torch.zeros as a handler sees it: its memory is named, where torch.ops.aten.zeros says what it was given alone.
void say_where(const Operator& op, Bound& b) {
  if (op.out) return;  // what is given says it
  if (op.pin_slot >= 0 && b.data()[op.pin_slot] == Py_None) b.set(size_t(op.pin_slot), Py_NewRef(Py_False));
  if (op.device_slot >= 0 && b.data()[op.device_slot] == Py_None && !default_device())
    b.set(size_t(op.device_slot), device_object(Device{DeviceType::cpu}));
}

// What an operator without results gives: torch._foreach_add_ the very list that it was given, torch.ops nothing.
PyObject* without_results(const Callable& f, const Operator& op, const CallArgs& c, PyObject* result) {
  if (!result) return nullptr;
  const std::string& name = op.schema.name;
  PyObject* given = c.nargs ? c.args[0] : c.nkw() ? c.kwvalue(0) : nullptr;
  for (size_t i = 0; !c.nargs && i < c.nkw(); ++i)
    if (PyUnicode_CompareWithASCIIString(c.kwname(i), "self") == 0) given = c.kwvalue(i);
  const bool of_lists = f.form != Form::op && given && name.starts_with("_foreach_") && name.ends_with('_');
  Py_DECREF(result);
  return Py_NewRef(of_lists ? given : Py_None);
}

// Operators of torch.ops take any sequence for a list: after a refusal the call goes again with lists in the places of sequences of other classes.
PyObject* with_lists(PyObject* self, const CallArgs& c) {
  const size_t n = c.nargs + c.nkw();
  std::vector<PyObject*> args(c.args, c.args + n);
  std::vector<OwnedRef> lists;
  for (PyObject*& a : args) {
    if (!PySequence_Check(a) || PyList_Check(a) || PyTuple_Check(a) || PyUnicode_Check(a) || PyBytes_Check(a) ||
        PyByteArray_Check(a) || is_tensor(a))
      continue;
    const Pending refusal;
    PyObject* list = PySequence_List(a);
    PyErr_Clear();
    if (!list) return nullptr;
    lists.emplace_back(list);
    a = list;
  }
  if (lists.empty()) return nullptr;
  PyErr_Clear();
  return call_callable(self, args.data(), c.nargs, c.kwnames);
}

}  // namespace

PyObject* call_callable(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<Callable*>(self);
  CallArgs c{args, size_t(PyVectorcall_NARGS(nargsf)), kwnames};
  if (torch_function_mode_active()) {
    PyObject* r = call_torch_function(self, c, nullptr);
    if (r || PyErr_Occurred()) return r;
  }
  const char* name = PyUnicode_AsUTF8(f->name);
  if (f->form == Form::method && (c.nargs == 0 || !is_tensor(c.args[0]))) {
    if (c.nargs == 0) return PyErr_Format(PyExc_TypeError, "unbound method TensorBase.%s() needs an argument", name);
    return PyErr_Format(PyExc_TypeError,
        "descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object", name,
        Py_TYPE(c.args[0])->tp_name);
  }
  binding_name = name;
  Bound b;
  Operator* op;
  if (f->single) {
    Failure failure;
    Fit fit = bind_one(*f->single, f->form, c, b, failure);
    op = fit == Fit::yes ? f->single : nullptr;
    if (fit == Fit::no) set_binding_error({f->single}, name, f->form, c);
  } else {
    op = bind_arguments(*f->candidates, name, f->form, c, b);
  }
  if (!op)
    return f->form == Form::op && !PyErr_ExceptionMatches(PyExc_NotImplementedError) ? with_lists(self, c) : nullptr;
  if (b.overloaded && torch_function_enabled()) {
    PyObject* r = call_torch_function(self, c, &b);
    if (r || PyErr_Occurred()) return r;
  }
  if (f->form != Form::op && op->factory && (__builtin_expect(python_dispatch, 0) || op->overridden)) say_where(*op, b);
  PyObject* result = call_operator(*op, b);
  if (op->schema.returns.empty()) return without_results(*f, *op, c, result);
  return f->form == Form::op ? plain_results(*op, result) : name_results(*op, result);
}

namespace {

// x + y: as a call, but operands that fit no overload leave the word to the other side.
void name_right_operator(PyObject* result) {
  if (!is_tensor(result) || !unwrap(result)->autograd()) return;
  auto* node = dynamic_cast<OperatorNode*>(unwrap(result)->autograd()->grad_fn.get());
  if (node && node->numbers == NumberAt::first) node->numbers = NumberAt::right_operator;
}

// A symbol whose override raised a TypeError leaves it to the other operand, and Python has the last word.
PyObject* refused_if_type_error(PyObject* r) {
  if (r || !PyErr_ExceptionMatches(PyExc_TypeError)) return r;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

}  // namespace

PyObject* call_symbol(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<Callable*>(self);
  size_t n = size_t(PyVectorcall_NARGS(nargsf));
  const CallArgs given{args, n, kwnames};  // overrides see the operands as they stand: tensor first
  PyObject* swapped[2];
  // A keyword that the symbol does not take is a TypeError, and those leave the word to the other operand.
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (f->reflected || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
      Py_RETURN_NOTIMPLEMENTED;
  if (n && !is_tensor(args[0]) && f->of_tensors)
    return PyErr_Format(PyExc_TypeError,
        "descriptor '%U' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object", f->name,
        Py_TYPE(args[0])->tp_name);
  if (f->reflected && n == 2) {
    swapped[0] = args[1];
    swapped[1] = args[0];
    args = swapped;
  }
  CallArgs c{args, n, kwnames};
  binding_name = PyUnicode_AsUTF8(f->name);
  const bool compares =
      std::strcmp(binding_name, "__eq__") == 0;  // the one that PyTorch asks for twice: __eq__, then eq
  if (torch_function_mode_active()) {
    PyObject* r = call_torch_function(compares ? self : f->public_form, given, nullptr);
    if (r || PyErr_Occurred()) return refused_if_type_error(r);
  }
  Bound b;
  Operator* op = nullptr;
  for (Operator* o : *f->candidates) {
    Failure failure;
    Fit fit = bind_one(*o, Form::function, c, b, failure);
    if (fit == Fit::error) return nullptr;
    if (fit == Fit::yes) {
      op = o;
      break;
    }
  }
  if (!op && f->reciprocal && n == 2 && PyObject_HasAttrString(args[1], "__array_interface__")) {
    const OwnedRef inverse = owned(PyObject_CallMethod(args[0], "reciprocal", nullptr));
    return PyNumber_Multiply(inverse, args[1]);  // by way of the array's own method
  }
  if (!op) {  // tensor == array alone compares with what is no tensor
    const OwnedRef other{n == 2 && compares ? tensor_over_array(args[1]) : nullptr};
    if (!other.o) Py_RETURN_NOTIMPLEMENTED;
    PyObject* const with_tensor[2] = {args[0], other};
    return call_symbol(self, with_tensor, 2, kwnames);
  }
  if (b.overloaded && torch_function_enabled()) {
    PyObject* r = call_torch_function(compares && has_torch_function(args[0]) ? self : f->public_form, given, &b);
    if (r || PyErr_Occurred()) return refused_if_type_error(r);
  }
  if (f->reciprocal) {
    PyObject* inverse = PyObject_CallMethod(args[0], "reciprocal", nullptr);
    if (!inverse) return nullptr;
    b.set(0, inverse);
  }
  PyObject* r = call_operator(*op, b);
  if (f->reflected && r) name_right_operator(r);
  if (!r && PyErr_ExceptionMatches(PyExc_NotImplementedError) && op->schema.name == "bitwise_not")
    PyErr_SetString(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
  return r;
}

}  // namespace shim
