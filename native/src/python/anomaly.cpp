// Anomaly mode: every node keeps the stack of the forward call that made it; a failing backward prints it.
#include <unordered_map>

#include "python/autograd_python.h"

namespace shim {
namespace {

class Dict final : public Metadata {
 public:
  Dict() : dict(PyDict_New()) {}
  ~Dict() override {
    if (!python_lives()) return;
    GilAcquire gil;
    Py_XDECREF(dict);
  }
  void traverse(Visitor& v) const override { v.python(dict); }
  PyObject* dict;
};

PyObject* dict_of(Node& n) {  // borrowed
  if (!n.metadata) n.metadata = Ref<Metadata>(new Dict());
  return static_cast<Dict*>(n.metadata.get())->dict;
}

PyObject* helper(const char* name, PyObject* args) {  // of shim_torch.autograd.anomaly_mode
  PyObject* module = PyImport_ImportModule("shim_torch.autograd.anomaly_mode");
  PyObject* f = module ? PyObject_GetAttrString(module, name) : nullptr;
  PyObject* r = f ? PyObject_CallObject(f, args) : nullptr;
  Py_XDECREF(module);
  Py_XDECREF(f);
  return r;
}

void created(Node& n, Node* parent) {
  if (n.next_edges.empty()) return;
  GilAcquire gil;
  PyObject* stack = helper("_stack", nullptr);
  if (!stack) throw PythonError();
  PyDict_SetItemString(dict_of(n), "traceback_", stack);
  Py_DECREF(stack);
  if (!parent) return;
  PyObject* p = node_object(Ref<Node>(parent));
  if (p) PyDict_SetItemString(dict_of(n), "parent_", p);
  Py_XDECREF(p);
}

void failed(Node& n) {
  GilAcquire gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* name = PyUnicode_FromString(n.name().c_str());
  PyObject* args = PyTuple_Pack(2, name, dict_of(n));
  PyObject* r = helper("_report", args);
  if (!r) PyErr_Print();  // warnings are errors: at least seen
  Py_XDECREF(r);
  Py_XDECREF(args);
  Py_XDECREF(name);
  PyErr_Restore(type, value, trace);
}

bool has_nan(const Tensor& t) {
  GilAcquire gil;
  PyObject* o = wrap(t);
  PyObject* args = PyTuple_Pack(1, o);
  PyObject* r = helper("_has_nan", args);
  Py_XDECREF(args);
  Py_XDECREF(o);
  if (!r) throw PythonError();
  bool found = r == Py_True;
  Py_DECREF(r);
  return found;
}

PyObject* set_enabled(PyObject*, PyObject* args) {
  PyObject *enabled, *check_nan = Py_True;
  bool on, nan;
  if (!PyArg_ParseTuple(args, "O|O:set_anomaly_enabled", &enabled, &check_nan)) return nullptr;
  if (!unpack_flag(enabled, "set_anomaly_enabled(): argument 'enabled' (position 1)", &on)) return nullptr;
  if (!unpack_flag(check_nan, "set_anomaly_enabled(): argument 'check_nan' (position 2)", &nan)) return nullptr;
  Anomaly::enabled = on;
  Anomaly::check_nan = nan;
  Py_RETURN_NONE;
}
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(Anomaly::enabled); }
PyObject* checks_nan(PyObject*, PyObject*) { return PyBool_FromLong(Anomaly::check_nan); }

PyMethodDef anomaly_functions[] = {{"set_anomaly_enabled", set_enabled, METH_VARARGS, nullptr},
    {"is_anomaly_enabled", is_enabled, METH_NOARGS, nullptr},
    {"is_anomaly_check_nan_enabled", checks_nan, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* node_metadata(Node& n) {
  PyObject* d = dict_of(n);
  Py_XINCREF(d);
  return d;
}

int bind_anomaly(PyObject* module) {
  Anomaly::created = created;
  Anomaly::failed = failed;
  Anomaly::has_nan = has_nan;
  return PyModule_AddFunctions(module, anomaly_functions);
}

}  // namespace shim
