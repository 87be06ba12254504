// What torch.library's part of the table (dispatch/library.h) needs of Python.
#include "python/library_table.h"

#include "dispatch/library.h"
#include "python/arguments.h"
#include "python/library_code.h"
#include "python/lent_objects.h"
#include "python/shown_call.h"
#include "trace/running.h"

namespace shim {

namespace {

void learn_parts() { owned(PyObject_CallNoArgs(imported("shim_torch._impl.transforms.torch_dispatch", "name_parts"))); }

// For a compiled function an operator of a library's own is one step, whatever its kernel does.
struct OneStep {
  explicit OneStep(const Operator& op) : own(op.schema.ns != "aten") {
    if (own) trace::enter_operator();
  }
  OneStep(const OneStep&) = delete;
  ~OneStep() {
    if (own) trace::leave_operator();
  }
  bool own;
};

// Calls a Python kernel as PyTorch does: without defaults, keyword-only arguments by keyword.
PyObject* called(const Operator& op, PyObject* f, const Value* args, size_t n) {
  OneStep step(op);
  if (const auto* code = held_in<LibraryCode>(f)) return call_code(**code, &op.schema, args, n);
  OwnedRef positional, keywords;
  if (!shown_arguments(op, LentObjects(op, args, n).data(), n, &positional.o, &keywords.o)) return nullptr;
  return PyObject_Call(f, positional.o, keywords.o);
}

// What a Python kernel gives must be what the schema says: a tensor, or one value for each of several results.
PyObject* checked_result(const Operator& op, PyObject* r) {
  const auto& returns = op.schema.returns;
  if (!r || r == Py_None || r == Py_NotImplemented || returns.empty()) return r;
  const bool one = returns.size() == 1;
  if (one && (returns[0].type.base != ArgType::Tensor || returns[0].type.list || is_tensor(r))) return r;
  if (!one && !is_tensor(r)) return r;
  const OwnedRef held{r};
  return one ? PyErr_Format(PyExc_RuntimeError, "Unable to cast %S to Tensor", r)
             : PyErr_Format(PyExc_TypeError, "Object of type 'Tensor' is not an instance of 'sequence'");
}

void call_kernel(const Operator& op, void* f, const Value* args, size_t n, Result& r) {
  hold(r, checked_result(op, called(op, static_cast<PyObject*>(f), args, n)));
}

void call_parts(const Operator& op, void* body, const Value* args, size_t n, Result& r) {
  hold(r, PyObject_Vectorcall(static_cast<PyObject*>(body), LentObjects(op, args, n).data(), n, nullptr));
}

std::unique_ptr<Operator> operator_of(Schema schema) {
  auto op = std::make_unique<PythonOperator>();
  op->schema = std::move(schema);
  op->prepare();
  return op;
}

}  // namespace

void install_library() { library_calls = {operator_of, learn_parts, call_kernel, call_parts}; }

}  // namespace shim
