// Python callables as hooks of tensors and nodes, and the handles that remove them.
#include <algorithm>

#include "autograd/replaced_gradient.h"
#include "python/autograd_python.h"
#include "python/owned_ref.h"
#include "python/object_methods.h"

namespace shim {

// Neither it nor its hook keeps the other: a handle among the attributes of its tensor closes no cycle.
struct PyHandle {
  PyObject_HEAD PythonHook* hook;
  void* id;
};

namespace {

PyTypeObject* HandleType;

void drop_handle(PyObject* o) {
  auto* h = reinterpret_cast<PyHandle*>(o);
  if (h->hook) h->hook->handle = nullptr;
  free_object(o);
}

PyObject* remove(PyObject* o, PyObject*) {
  auto* h = reinterpret_cast<PyHandle*>(o);
  if (!h->hook || !h->hook->home) Py_RETURN_NONE;
  const Ref<Hook> hook(h->hook);  // it goes when the list is whole again
  std::erase_if(*h->hook->home, [&](const Ref<Hook>& other) { return other == hook; });
  hook->home = nullptr;
  Py_RETURN_NONE;
}
PyObject* enter(PyObject* o, PyObject*) { return Py_NewRef(o); }
PyMethodDef handle_methods[] = {{"remove", remove, METH_NOARGS, nullptr}, {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", remove, METH_VARARGS, nullptr}, {}};
PyGetSetDef handle_getset[] = {
    object_attribute<[](PyObject* o) { return reinterpret_cast<PyHandle*>(o)->id; }>("id"), {}};
PyType_Slot handle_slots[] = {
    slot(Py_tp_dealloc, drop_handle), {Py_tp_methods, handle_methods}, {Py_tp_getset, handle_getset}, {}};
PyType_Spec handle_spec = {"torch.utils.hooks.RemovableHandle", sizeof(PyHandle), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

}  // namespace

PyObject* tuple_of_grads(const Grads& grads) {
  return tuple_by(grads.size(), [&](size_t i) { return wrap(grads[i]); });
}

bool grads_from(PyObject* sequence, Grads* out) {
  if (is_tensor(sequence)) {
    out->assign(1, Tensor(unwrap(sequence)));
    return true;
  }
  const OwnedRef fast{PySequence_Fast(sequence, "expected a sequence of tensors")};
  if (!fast.o) return false;
  out->clear();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.o); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(fast.o, i);
    if (o != Py_None && !is_tensor(o))
      return PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s", Py_TYPE(o)->tp_name);
    out->push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
  }
  return true;
}

namespace {

std::string name_of(PyObject* hook) {
  const OwnedRef name{PyObject_GetAttrString(hook, "__name__")};
  if (!name.o) PyErr_Clear();
  const OwnedRef text = owned(PyObject_Str(name.o ? name.o : hook));
  const char* words = PyUnicode_AsUTF8(text);
  if (!words) throw PythonError();
  return words;
}

// What a node's hook gives in place of the gradients that it was given.
void replace(PyObject* hook, PyObject* given, Grads& grads) {
  CHECK(Kind::Type, PyTuple_Check(given), "expected tuple, but hook returned '", Py_TYPE(given)->tp_name, "'");
  const auto n = size_t(PyTuple_GET_SIZE(given));
  CHECK(Kind::Runtime, n == grads.size(), "hook '", name_of(hook), "' has returned an incorrect number of values (got ",
      n, ", but expected ", grads.size(), ")");
  Grads found;
  for (size_t i = 0; i < n; ++i) {
    PyObject* o = PyTuple_GET_ITEM(given, Py_ssize_t(i));
    CHECK(Kind::Type, o == Py_None || is_tensor(o), "expected Variable, but hook returned '", Py_TYPE(o)->tp_name, "'");
    found.push_back(o == Py_None ? Tensor() : Tensor(unwrap(o)));
    check_replaced(grads[i], found.back(), [&] { return name_of(hook); });
  }
  grads = std::move(found);
}

}  // namespace

void PythonHook::pre_of_dict(Grads& grads) {
  const OwnedRef hooks = owned(PyMapping_Values(f_));  // a list: they may change the dict
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.o); ++i)
    PythonHook(PyList_GET_ITEM(hooks.o, i), OneTensor, index_).pre(grads);
}

void PythonHook::pre(Grads& grads) {
  GilAcquire gil;
  if (form_ == Dict) return pre_of_dict(grads);
  if (form_ == OneTensor && index_ >= grads.size()) return;
  const OwnedRef given = owned(form_ == Tuple ? tuple_of_grads(grads) : wrap(grads[index_]));
  const OwnedRef r = owned(PyObject_CallOneArg(f_, given));
  if (r == Py_None) return;
  CHECK(Kind::Runtime, form_ != Accumulated, "Tensor post accumulate grad hooks should return None.");
  if (form_ == OneTensor) {
    CHECK(Kind::Type, is_tensor(r), "expected Variable, but hook returned '", Py_TYPE(r.o)->tp_name, "'");
    Tensor made(unwrap(r));
    check_replaced(grads[index_], made, [&] { return name_of(f_); });
    grads[index_] = std::move(made);
  } else if (form_ == Tuple) {
    replace(f_, r, grads);
  }
}

void PythonHook::post(Grads& outputs, const Grads& inputs) {
  GilAcquire gil;
  const OwnedRef gave = owned(tuple_of_grads(outputs)), got = owned(tuple_of_grads(inputs));
  const OwnedRef r = owned(PyObject_CallFunctionObjArgs(f_, gave.o, got.o, nullptr));
  if (r != Py_None) replace(f_, r, outputs);
}

PythonHook::~PythonHook() {
  if (!python_lives()) return;
  GilAcquire gil;
  if (handle) handle->hook = nullptr;
  Py_DECREF(f_);
}

PyObject* add_hook(HookList& list, const Ref<PythonHook>& hook) {
  auto* h = reinterpret_cast<PyHandle*>(HandleType->tp_alloc(HandleType, 0));
  if (!h) return nullptr;
  list.add(Ref<Hook>(hook));
  h->id = h->hook = hook.get();
  hook->handle = h;
  return reinterpret_cast<PyObject*>(h);
}

PyObject* register_node_hook(Node& n, PyObject* f, bool before) {
  return add_hook(
      before ? n.pre_hooks : n.post_hooks, make<PythonHook>(f, before ? PythonHook::Tuple : PythonHook::Post));
}

int bind_hooks() { return (HandleType = add_type(nullptr, handle_spec)) ? 0 : -1; }

}  // namespace shim
