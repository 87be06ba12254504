// Tensor.__torch_function__: runs the function, then gives results the subclass.
#include "autograd/autograd.h"
#include "core/sparse.h"
#include "autograd/piecewise_constant.h"
#include "python/torch_function_state.h"
#include "python/wrapper.h"

namespace shim::torch_function {

PyObject* disabled_function(PyObject*, PyObject* args) { return call_without(subclasses_disabled, args); }

namespace {

// Tensor.__torch_function__: run it plainly, then give results the subclass, as PyTorch does.
bool keeps_type(PyObject* func) {
  if (text_of(func, "__name__") != "__get__") return false;
  const OwnedRef attribute{PyObject_GetAttrString(func, "__self__")};
  const std::string name = attribute.o ? text_of(attribute, "__name__") : "";
  PyErr_Clear();
  return name == "grad" || name == "_grad" || name == "_base";
}

// A view of it all as an instance of a subclass.
PyObject* as_subclass(const Tensor& t, PyTypeObject* cls) {
  Tensor same = alias_with_history(t);
  if (has_data(*t) && !is_sparse(*t)) mark_view(same, t);
  return wrap_as(same, cls);
}

PyObject* py_as_subclass(PyObject* self, PyObject* cls) {
  return guarded(
      [&]() -> PyObject* { return as_subclass(Tensor(unwrap(self)), subclass_of_tensor(cls, Kind::Runtime)); });
}

PyObject* converted(PyObject* result, PyTypeObject* cls) {
  if (is_tensor(result) && !PyObject_TypeCheck(result, cls))
    return guarded([&]() -> PyObject* { return as_subclass(Tensor(unwrap(result)), cls); });
  if (!PyTuple_Check(result) && !PyList_Check(result)) return Py_NewRef(result);
  OwnedRef list{list_by(size_t(PySequence_Fast_GET_SIZE(result)),
      [&](size_t i) { return converted(PySequence_Fast_GET_ITEM(result, i), cls); })};
  if (!list.o || PyList_CheckExact(result)) return list.give();
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(result)), list);
}

// Calls of Tensor.__torch_function__ that run now. A function that comes back with the same arguments is another
// PyTorch's: ours asks nobody while subclasses are disabled.
struct Running {
  PyObject *func, *args;
  const Running* outer;
};
thread_local const Running* running = nullptr;

bool comes_back(PyObject* func, PyObject* args) {
  if (!subclasses_disabled || !PyTuple_Check(args)) return false;
  for (const Running* r = running; r; r = r->outer) {
    if (!PyTuple_Check(r->args) || PyTuple_GET_SIZE(r->args) != PyTuple_GET_SIZE(args)) continue;
    bool same = true;
    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(args); ++i)
      same = PyTuple_GET_ITEM(args, i) == PyTuple_GET_ITEM(r->args, i);
    int equal = same ? PyObject_RichCompareBool(func, r->func, Py_EQ) : 0;  // bound slots are new objects each time
    if (equal < 0) PyErr_Clear();
    if (equal == 1) return true;
  }
  return false;
}

PyObject* run_plainly(PyObject* func, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (comes_back(func, args))
    return PyErr_Format(PyExc_TypeError,
        "%s of the PyTorch that is installed here was called with a tensor of shim_torch; give it "
        "torch.from_dlpack(tensor), which copies nothing",
        public_name(func).c_str());
  const OwnedRef pass{PyTuple_Pack(4, func, types, args, kwargs)};
  if (!pass.o) return nullptr;
  const Running now{func, args, running};
  running = &now;
  PyObject* result = disabled_function(nullptr, pass);
  running = now.outer;
  return result;
}

PyObject* default_function(PyObject* cls, PyObject* args, PyObject* kw) {
  static const char* words[] = {"func", "types", "args", "kwargs", nullptr};
  PyObject *func, *types, *positional = nullptr, *kwargs = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|OO", const_cast<char**>(words), &func, &types, &positional, &kwargs))
    return nullptr;
  const OwnedRef given{PySequence_Fast(types, "types must be a sequence")};
  if (!given.o) return nullptr;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given.o); ++i)
    if (const int sub = PyObject_IsSubclass(cls, PySequence_Fast_GET_ITEM(given.o, i)); sub <= 0)
      return sub < 0 ? nullptr : Py_NewRef(Py_NotImplemented);
  const OwnedRef inputs{positional ? Py_NewRef(positional) : PyTuple_New(0)};
  OwnedRef result{inputs.o ? run_plainly(func, types, inputs, kwargs ? kwargs : Py_None) : nullptr};
  return !result.o || keeps_type(func) ? result.give() : converted(result, reinterpret_cast<PyTypeObject*>(cls));
}

PyMethodDef default_method = raw_function(
    "__torch_function__", default_function, "Runs func, then converts tensors to the subclass.", METH_CLASS);

PyMethodDef as_subclass_method = {
    "as_subclass", py_as_subclass, METH_O, "The same tensor as an instance of a subclass; shares memory and history."};

}  // namespace

int add_default_function() {
  const OwnedRef method{PyDescr_NewClassMethod(TensorBaseType, &default_method)};
  const OwnedRef as{PyDescr_NewMethod(TensorBaseType, &as_subclass_method)};
  if (!method.o || !as.o) return -1;
  int rc = PyDict_SetItemString(TensorBaseType->tp_dict, "__torch_function__", method);
  if (rc == 0) rc = PyDict_SetItemString(TensorBaseType->tp_dict, "as_subclass", as);
  PyType_Modified(TensorBaseType);
  return rc;
}

}  // namespace shim::torch_function
