#include "python/kernel_call.h"

#include "core/interpreter_lock.h"
#include "python/override.h"
#include "python/owned_ref.h"

namespace shim {

bool acts_for_itself(PyObject* tensor) {
  return has_torch_function(tensor) || SubclassOps::is_special(*unwrap(tensor));
}

PyObject* kernel_call::tuple(std::span<Tensor> tensors) {
  OwnedRef made{PyTuple_New(Py_ssize_t(tensors.size()))};
  for (size_t i = 0; made.o && i < tensors.size(); ++i) {
    PyObject* item = wrap(std::move(tensors[i]));
    if (!item) return nullptr;
    PyTuple_SET_ITEM(made.o, Py_ssize_t(i), item);
  }
  return made.give();
}

PyObject* kernel_call::list(std::span<const Tensor> tensors) {
  std::vector<Tensor> taken(tensors.begin(), tensors.end());
  OwnedRef all{tuple(taken)};
  return all.o ? PySequence_List(all.o) : nullptr;
}

PyObject* kernel_call::joined(std::span<PyObject* const> items) {
  OwnedRef made{PyTuple_New(Py_ssize_t(items.size()))};
  bool complete = made.o;
  for (size_t i = 0; i < items.size(); ++i) {
    complete = complete && items[i];
    if (made.o)
      PyTuple_SET_ITEM(made.o, Py_ssize_t(i), items[i]);
    else
      Py_XDECREF(items[i]);
  }
  return complete ? made.give() : nullptr;
}

namespace {

// {"aten::sort": {"bool tensors": 3}} of the operators whose kernels left calls to the body.
PyObject* declines() {
  OwnedRef all = owned(PyDict_New());
  for (auto& ns : operator_namespaces())
    for (auto& name : operator_names(ns))
      for (Operator* op : overloads(ns + "::" + name)) {
        if (op->declines.empty()) continue;
        OwnedRef reasons = owned(PyDict_New());
        for (auto& [reason, times] : op->declines) {
          OwnedRef count = owned(PyLong_FromUnsignedLongLong(times));
          if (PyDict_SetItemString(reasons.o, reason, count.o) < 0) return nullptr;
        }
        if (PyDict_SetItemString(all.o, op->full_name().c_str(), reasons.o) < 0) return nullptr;
      }
  return all.give();
}

PyObject* operator_declines(PyObject*, PyObject*) { return guarded(declines); }

void* release_lock() { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; }
void take_lock(void* was) { PyEval_RestoreThread(static_cast<PyThreadState*>(was)); }

PyMethodDef functions[] = {
    {"operator_declines", operator_declines, METH_NOARGS,
        "Why native kernels left calls to operators' bodies, and how often: {operator: {reason: times}}."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_kernel_calls(PyObject* module) {
  interpreter_lock = {release_lock, take_lock};
  return PyModule_AddFunctions(module, functions);
}

}  // namespace shim
