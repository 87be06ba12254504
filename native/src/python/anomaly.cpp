// Anomaly mode: every node keeps the stack of the forward call that made it; a failing backward prints it.
#include <unordered_map>

#include "python/autograd_python.h"
#include "python/schema_function.h"

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

template <class... A> OwnedRef helper(const char* name, A*... args) {  // of shim_torch.autograd.anomaly_mode
  const OwnedRef module = owned(PyImport_ImportModule("shim_torch.autograd.anomaly_mode"));
  return owned(PyObject_CallFunctionObjArgs(owned(PyObject_GetAttrString(module, name)), args..., nullptr));
}

void created(Node& n, Node* parent) {
  if (n.next_edges.empty()) return;
  GilAcquire gil;
  PyDict_SetItemString(dict_of(n), "traceback_", helper("_stack"));
  const OwnedRef p{parent ? node_object(Ref<Node>(parent)) : nullptr};
  if (p.o) PyDict_SetItemString(dict_of(n), "parent_", p);
}

void failed(Node& n) {
  GilAcquire gil;
  const Pending raised;
  try {
    helper("_report", owned(PyUnicode_FromString(n.name().c_str())).o, dict_of(n));
  } catch (const PythonError&) { PyErr_Print(); }  // warnings are errors: at least seen
}

bool has_nan(const Tensor& t) {
  GilAcquire gil;
  return helper("_has_nan", owned(wrap(t)).o) == Py_True;
}

void set_enabled(bool on, bool check_nan) {
  Anomaly::enabled = on;
  Anomaly::check_nan = check_nan;
}

int install_anomaly(PyObject*) {
  Anomaly::created = created;
  Anomaly::failed = failed;
  Anomaly::has_nan = has_nan;
  return 0;
}

const ModulePart anomaly_functions{
    {schema_function<&set_enabled, "set_anomaly_enabled(bool enabled, bool check_nan=True)">(),
        function<[] { return bool(Anomaly::enabled); }>("is_anomaly_enabled"),
        function<[] { return bool(Anomaly::check_nan); }>("is_anomaly_check_nan_enabled")},
    install_anomaly};

}  // namespace

PyObject* node_metadata(Node& n) { return Py_XNewRef(dict_of(n)); }

}  // namespace shim
