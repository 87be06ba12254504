// Saved tensors seen from Python: their pack and unpack hooks, default ones (a stack) and those of one tensor.
#include <memory>
#include <string>
#include <utility>

#include "python/autograd_python.h"
#include "python/module_function.h"

namespace shim {
namespace {

struct PySaved {
  PyObject_HEAD Node* owner;
  SavedTensor* saved;
};  // without an owner it holds its SavedTensor itself
PyTypeObject* SavedType;

struct HookPair {
  PyObject *pack, *unpack;
};
thread_local std::vector<HookPair> defaults;  // owned references
thread_local std::string disabled;            // why default hooks may not be used; empty: they may

class Packed final : public PackedValue {
 public:
  Packed(PyObject* value, PyObject* unpack) : value_(value), unpack_(unpack) { Py_INCREF(unpack_); }
  ~Packed() override {
    if (!python_lives()) return;
    GilAcquire gil;
    Py_DECREF(value_);
    Py_DECREF(unpack_);
  }
  Tensor unpack() override {
    GilAcquire gil;
    PyObject* r = PyObject_CallOneArg(unpack_, value_);
    if (!r) throw PythonError();
    struct Drop {
      PyObject* o;
      ~Drop() { Py_DECREF(o); }
    } drop{r};
    CHECK(Kind::Type, is_tensor(r),
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ", Py_TYPE(r)->tp_name);
    return Tensor(unwrap(r));
  }

  void traverse(Visitor& v) const override {
    v.python(value_);
    v.python(unpack_);
  }

 private:
  PyObject *value_, *unpack_;  // value_: stolen
};

Ref<PackedValue> packed_by(PyObject* pack, PyObject* unpack, const Tensor& t) {
  NoGrad off;
  uint32_t version = t->version();
  PyObject* arg = wrap(t);
  PyObject* value = arg ? PyObject_CallOneArg(pack, arg) : nullptr;
  Py_XDECREF(arg);
  if (!value) throw PythonError();
  Ref<PackedValue> packed(new Packed(value, unpack));
  CHECK(Kind::Runtime, t->version() == version,
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
      "modified by in-place "
      "operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place "
      "operations on the input to a pack hook.");
  return packed;
}

Ref<PackedValue> pack_default(const Tensor& t) {
  if (defaults.empty() || t->wrapped_number) return {};
  GilAcquire gil;
  HookPair pair = defaults.back();
  struct Off {
    int old = SavedHooks::depth();
    Off() { SavedHooks::depth() = 0; }
    ~Off() { SavedHooks::depth() = old; }
  } off;
  return packed_by(pair.pack, pair.unpack, t);
}

int traverse_saved(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  auto* s = reinterpret_cast<PySaved*>(o);
  if (s->owner) return visit_shared(s->owner, visit, arg);
  return s->saved ? visit_saved(*s->saved, visit, arg) : 0;
}

int clear_saved(PyObject* o) {
  auto* s = reinterpret_cast<PySaved*>(o);
  Node* owner = std::exchange(s->owner, nullptr);
  SavedTensor* saved = std::exchange(s->saved, nullptr);
  if (owner)
    owner->release();
  else
    delete saved;
  return 0;
}

SavedTensor& saved_in(PyObject* o) {
  SavedTensor* s = reinterpret_cast<PySaved*>(o)->saved;
  CHECK(Kind::Runtime, s, "the saved tensor was freed");  // by the collector of cycles
  return *s;
}

void drop_saved(PyObject* o) {
  PyObject_GC_UnTrack(o);
  clear_saved(o);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* register_hooks(PyObject* self, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO:register_hooks", &pack, &unpack)) PyErr_Clear();
  if (PyTuple_GET_SIZE(args) != 2 || !PyCallable_Check(pack) || !PyCallable_Check(unpack)) {
    PyErr_SetString(
        PyExc_TypeError, "incompatible function arguments: register_hooks(pack_hook: function, unpack_hook: function)");
    return nullptr;
  }
  return guarded([&]() -> PyObject* {
    SavedTensor& s = saved_in(self);
    CHECK(Kind::Runtime, !s.released,
        "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
        "freed when you call .backward() or "
        "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
        "need to access saved variables after calling backward.");
    CHECK(Kind::Runtime, s.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
    CHECK(Kind::Runtime, !s.has_hooks(),
        "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
        "allowed at a time.");
    s.set_packed(packed_by(pack, unpack, s.to_pack()));
    Py_RETURN_NONE;
  });
}

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
}

PyObject* unpack_saved(PyObject* self, PyObject*) {
  return guarded(
      [&]() -> PyObject* { return wrap(saved_in(self).unpack(Ref<Node>(reinterpret_cast<PySaved*>(self)->owner))); });
}

PyObject* make_saved(PyObject*, PyObject* args, PyObject* kwargs) {  // saved as an operator's input would be
  static const char* names[] = {"tensor", "is_output", nullptr};
  PyObject* t;
  int is_output = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O!|p:_make_saved_tensor", const_cast<char**>(names), TensorBaseType, &t, &is_output))
    return nullptr;
  return guarded([&]() -> PyObject* {
    auto saved = std::make_unique<SavedTensor>(Tensor(unwrap(t)), bool(is_output));
    auto* o = reinterpret_cast<PySaved*>(SavedType->tp_alloc(SavedType, 0));
    if (!o) return nullptr;
    o->saved = saved.release();
    return reinterpret_cast<PyObject*>(o);
  });
}

PyMethodDef saved_methods[] = {{"unpack", unpack_saved, METH_NOARGS, "The tensor."},
    {"register_hooks", register_hooks, METH_VARARGS,
        "Packs the tensor now with the first function, unpacks with the second."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot saved_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop_saved)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_saved)}, {Py_tp_clear, reinterpret_cast<void*>(clear_saved)},
    {Py_tp_methods, saved_methods}, {Py_tp_new, reinterpret_cast<void*>(refuse)}, {0, nullptr}};
PyType_Spec saved_spec = {
    "torch._C._autograd.SavedTensor", sizeof(PySaved), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, saved_slots};

// --- the stack of default hooks ------------------------------------------------------------------------------------------------

void push_default(PyObject* pack, PyObject* unpack) {
  if (!disabled.empty()) fail(Kind::Runtime, disabled);
  defaults.push_back({Py_NewRef(pack), Py_NewRef(unpack)});
  SavedHooks::depth() = int(defaults.size());
}

void pop_default() {
  if (defaults.empty()) return;
  const HookPair pair = defaults.back();
  defaults.pop_back();
  SavedHooks::depth() = int(defaults.size());
  Py_DECREF(pair.pack);
  Py_DECREF(pair.unpack);
}

PyObject* top_default() {
  if (defaults.empty()) Py_RETURN_NONE;
  return Py_BuildValue("OO", defaults.back().pack, defaults.back().unpack);
}

void disable(std::string_view why, std::optional<bool> fail_if_set) {
  if (fail_if_set.value_or(true) && !defaults.empty()) fail(Kind::Runtime, std::string(why));
  disabled = why;
}

std::optional<std::string> why_disabled() { return disabled.empty() ? std::nullopt : std::optional(disabled); }

PyMethodDef saved_object_functions[] = {
    {"_make_saved_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(make_saved)),
        METH_VARARGS | METH_KEYWORDS, nullptr},
    function<&push_default>("_push_saved_tensors_default_hooks"),
    function<&pop_default>("_pop_saved_tensors_default_hooks"),
    function<&top_default>("_top_saved_tensors_default_hooks"), function<&disable>("_saved_tensors_hooks_disable"),
    function<[] { disabled.clear(); }>("_saved_tensors_hooks_enable"),
    function<[] { return disabled.empty(); }>("_saved_tensors_hooks_is_enabled"),
    function<&why_disabled>("_saved_tensors_hooks_get_disabled_error_message"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

size_t saved_hooks_pushed() { return defaults.size(); }

void restore_saved_hooks(size_t pushed) {
  while (defaults.size() > pushed) pop_default();
}

PyObject* saved_object(const Ref<Node>& owner, SavedTensor* saved) {
  auto* o = reinterpret_cast<PySaved*>(SavedType->tp_alloc(SavedType, 0));
  if (!o) return nullptr;
  o->owner = Ref<Node>(owner).detach();
  o->saved = saved;
  return reinterpret_cast<PyObject*>(o);
}

int bind_saved(PyObject* module) {
  SavedHooks::pack = pack_default;
  SavedType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&saved_spec));
  if (!SavedType || PyObject_SetAttrString(module, "SavedTensor", reinterpret_cast<PyObject*>(SavedType)) < 0)
    return -1;
  return PyModule_AddFunctions(module, saved_object_functions);
}

}  // namespace shim
