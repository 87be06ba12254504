// Saved tensors seen from Python: their pack and unpack hooks, default ones (a stack) and those of one tensor.
#include <memory>
#include <string>
#include <utility>

#include "python/autograd_python.h"
#include "python/object_methods.h"

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
    const OwnedRef r = owned(PyObject_CallOneArg(unpack_, value_));
    CHECK(Kind::Type, is_tensor(r),
        "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ", Py_TYPE(r.o)->tp_name);
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
  Ref<PackedValue> packed(new Packed(owned(PyObject_CallOneArg(pack, owned(wrap(t)))).give(), unpack));
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
  free_object(o);
}

PyObject* register_hooks(Rest given) {  // (the object, pack, unpack)
  PyObject* const* hooks = given.args + 1;
  CHECK(Kind::Type, given.size == 3 && PyCallable_Check(hooks[0]) && PyCallable_Check(hooks[1]),
      "incompatible function arguments: register_hooks(pack_hook: function, unpack_hook: function)");
  SavedTensor& s = saved_in(given.args[0]);
  CHECK(Kind::Runtime, !s.released,
      "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
      "freed when you call .backward() or "
      "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
      "need to access saved variables after calling backward.");
  CHECK(Kind::Runtime, s.defined(), "Calling register_hooks on a saved tensor with value None is forbidden");
  CHECK(Kind::Runtime, !s.has_hooks(),
      "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
      "allowed at a time.");
  s.set_packed(packed_by(hooks[0], hooks[1], s.to_pack()));
  Py_RETURN_NONE;
}

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
}

Tensor unpack_saved(PyObject* self) {
  return saved_in(self).unpack(Ref<Node>(reinterpret_cast<PySaved*>(self)->owner));
}

PyObject* make_saved(PyObject* t, std::optional<bool> is_output) {  // saved as an operator's input would be
  CHECK(Kind::Type, is_tensor(t), "_make_saved_tensor() expects a tensor, not ", Py_TYPE(t)->tp_name);
  auto saved = std::make_unique<SavedTensor>(Tensor(unwrap(t)), is_output.value_or(false));
  auto* o = reinterpret_cast<PySaved*>(owned(SavedType->tp_alloc(SavedType, 0)).give());
  o->saved = saved.release();
  return reinterpret_cast<PyObject*>(o);
}

PyMethodDef saved_methods[] = {object_method<&unpack_saved>("unpack", "The tensor."),
    object_method<&register_hooks>(
        "register_hooks", "Packs the tensor now with the first function, unpacks with the second."),
    {}};
PyType_Slot saved_slots[] = {slot(Py_tp_dealloc, drop_saved), slot(Py_tp_traverse, traverse_saved),
    slot(Py_tp_clear, clear_saved), {Py_tp_methods, saved_methods}, slot(Py_tp_new, refuse), {}};
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

PyMethodDef saved_object_functions[] = {function<&make_saved, "tensor is_output">("_make_saved_tensor"),
    function<&push_default>("_push_saved_tensors_default_hooks"),
    function<&pop_default>("_pop_saved_tensors_default_hooks"),
    function<&top_default>("_top_saved_tensors_default_hooks"), function<&disable>("_saved_tensors_hooks_disable"),
    function<[] { disabled.clear(); }>("_saved_tensors_hooks_enable"),
    function<[] { return disabled.empty(); }>("_saved_tensors_hooks_is_enabled"),
    function<&why_disabled>("_saved_tensors_hooks_get_disabled_error_message"), {}};

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
  SavedType = add_type(module, saved_spec, "SavedTensor");
  return SavedType ? PyModule_AddFunctions(module, saved_object_functions) : -1;
}

}  // namespace shim
