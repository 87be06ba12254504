// Attributes and methods that are no operators, made visible to __torch_function__. A plain tensor outside modes pays one
// comparison: methods stay method descriptors and attributes stay attribute descriptors, with functions that look first.
#include <array>
#include <cstring>
#include <utility>

#include "python/dispatch.h"
#include "python/override.h"

namespace shim {
namespace {

bool overridden(PyObject* self) {
  if (is_tensor_exact(self)) return torch_function_mode_active();
  return torch_function_mode_active() || has_torch_function(self);
}

PyObject* ask(PyObject* callable, PyObject* const* args, size_t n,
    PyObject* names = nullptr) {  // null without an error: nobody answers
  return call_torch_function(callable, CallArgs{args, n, names}, nullptr);
}

// --- attributes ------------------------------------------------------------------------------------------------------------

struct Attribute {
  PyGetSetDef original, seen;
  PyObject* descriptor;
};

PyObject* ask_accessor(Attribute* a, const char* accessor, PyObject* const* args, size_t n) {
  PyObject* f = PyObject_GetAttrString(a->descriptor, accessor);  // torch.Tensor.shape.__get__
  PyObject* r = f ? ask(f, args, n) : nullptr;
  Py_XDECREF(f);
  return r;
}

PyObject* get(PyObject* self, void* closure) {
  auto* a = static_cast<Attribute*>(closure);
  if (__builtin_expect(overridden(self), 0)) {
    PyObject* r = ask_accessor(a, "__get__", &self, 1);
    if (r || PyErr_Occurred()) return r;
  }
  return a->original.get(self, a->original.closure);
}

int set(PyObject* self, PyObject* value, void* closure) {
  auto* a = static_cast<Attribute*>(closure);
  if (__builtin_expect(overridden(self), 0)) {
    PyObject* args[2] = {self, value};
    PyObject* r = value ? ask_accessor(a, "__set__", args, 2) : ask_accessor(a, "__delete__", args, 1);
    Py_XDECREF(r);
    if (r) return 0;
    if (PyErr_Occurred()) return -1;
  }
  return a->original.set(self, value, a->original.closure);
}

// --- methods ---------------------------------------------------------------------------------------------------------------

// A C function gets no closure: every method has functions of its own, made by number.
constexpr size_t kMost = 192;
struct Method {
  PyMethodDef original, seen;
  PyObject* descriptor;
};
Method methods[kMost];
size_t method_count = 0;

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
using FastKeywords = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);
template <class F> F as(PyCFunction f) { return reinterpret_cast<F>(reinterpret_cast<void (*)()>(f)); }
template <class F> PyCFunction plain(F f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); }

PyObject* ask_method(size_t i, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names = nullptr) {
  size_t all = size_t(n) + (names ? size_t(PyTuple_GET_SIZE(names)) : 0);
  std::vector<PyObject*> with(all + 1);
  with[0] = self;
  std::copy(args, args + all, with.begin() + 1);
  return ask(methods[i].descriptor, with.data(), size_t(n) + 1, names);
}

PyObject* ask_method_with(size_t i, PyObject* self, PyObject* args, PyObject* kwargs) {
  std::vector<PyObject*> all{self};
  for (Py_ssize_t k = 0; args && k < PyTuple_GET_SIZE(args); ++k) all.push_back(PyTuple_GET_ITEM(args, k));
  size_t n = all.size();
  PyObject* names = kwargs && PyDict_GET_SIZE(kwargs) ? PySequence_Tuple(kwargs) : nullptr;
  for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); ++k)
    all.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names, k)));
  PyObject* r = ask(methods[i].descriptor, all.data(), n, names);
  Py_XDECREF(names);
  return r;
}

// Whether an override gave a result or an error; the method itself runs otherwise.
bool answered(PyObject* r) { return r || PyErr_Occurred(); }

// One body for each calling convention; what stands for the number I only hands it on, and costs a jump.
[[gnu::noinline]] PyObject* call_without_arguments(size_t i, PyObject* self, PyObject* nothing) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method(i, self, nullptr, 0); answered(r)) return r;
  return methods[i].original.ml_meth(self, nothing);
}
[[gnu::noinline]] PyObject* call_with_one(size_t i, PyObject* self, PyObject* o) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method(i, self, &o, 1); answered(r)) return r;
  return methods[i].original.ml_meth(self, o);
}
[[gnu::noinline]] PyObject* call_fast(size_t i, PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method(i, self, args, n); answered(r)) return r;
  return as<Fast>(methods[i].original.ml_meth)(self, args, n);
}
[[gnu::noinline]] PyObject* call_fast_keywords(
    size_t i, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method(i, self, args, n, names); answered(r)) return r;
  return as<FastKeywords>(methods[i].original.ml_meth)(self, args, n, names);
}
[[gnu::noinline]] PyObject* call_with_tuple(size_t i, PyObject* self, PyObject* args) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method_with(i, self, args, nullptr); answered(r)) return r;
  return methods[i].original.ml_meth(self, args);
}
[[gnu::noinline]] PyObject* call_with_tuple_and_dict(size_t i, PyObject* self, PyObject* args, PyObject* kwargs) {
  if (__builtin_expect(overridden(self), 0))
    if (PyObject* r = ask_method_with(i, self, args, kwargs); answered(r)) return r;
  return as<PyCFunctionWithKeywords>(methods[i].original.ml_meth)(self, args, kwargs);
}

template <size_t I> PyObject* no_arguments(PyObject* self, PyObject* nothing) {
  return call_without_arguments(I, self, nothing);
}
template <size_t I> PyObject* one_argument(PyObject* self, PyObject* o) { return call_with_one(I, self, o); }
template <size_t I> PyObject* fast(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  return call_fast(I, self, args, n);
}
template <size_t I> PyObject* fast_keywords(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return call_fast_keywords(I, self, args, n, names);
}
template <size_t I> PyObject* tuple(PyObject* self, PyObject* args) { return call_with_tuple(I, self, args); }
template <size_t I> PyObject* tuple_and_dict(PyObject* self, PyObject* args, PyObject* kwargs) {
  return call_with_tuple_and_dict(I, self, args, kwargs);
}

struct Forms {
  PyCFunction no_arguments, one_argument, fast, fast_keywords, tuple, tuple_and_dict;
};
template <size_t... I> std::array<Forms, sizeof...(I)> all_forms(std::index_sequence<I...>) {
  return {Forms{no_arguments<I>, one_argument<I>, plain(fast<I>), plain(fast_keywords<I>), tuple<I>,
      plain(tuple_and_dict<I>)}...};
}

PyCFunction form_of(size_t i, int flags) {
  static const auto forms = all_forms(std::make_index_sequence<kMost>());
  switch (flags) {
    case METH_NOARGS: return forms[i].no_arguments;
    case METH_O: return forms[i].one_argument;
    case METH_FASTCALL: return forms[i].fast;
    case METH_FASTCALL | METH_KEYWORDS: return forms[i].fast_keywords;
    case METH_VARARGS: return forms[i].tuple;
    case METH_VARARGS | METH_KEYWORDS: return forms[i].tuple_and_dict;
    default: return nullptr;
  }
}

// --- methods written in Python -------------------------------------------------------------------------------------------------

struct Wrapped {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
};
PyTypeObject* WrappedType;

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  size_t n = size_t(PyVectorcall_NARGS(nargsf));
  if (n && __builtin_expect(is_tensor(args[0]) && overridden(args[0]), 0)) {
    PyObject* r = ask(self, args, n, names);
    if (r || PyErr_Occurred()) return r;
  }
  return PyObject_Vectorcall(reinterpret_cast<Wrapped*>(self)->function, args, nargsf, names);
}

PyObject* bind_to(PyObject* self, PyObject* obj, PyObject*) {
  return !obj || obj == Py_None ? Py_NewRef(self) : PyMethod_New(self, obj);
}

PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(reinterpret_cast<Wrapped*>(self)->function, name);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Wrapped*>(self)->function);
  return 0;
}
int clear(PyObject* self) {
  Py_XSETREF(reinterpret_cast<Wrapped*>(self)->function, Py_NewRef(Py_None));  // its other methods go on to find one
  return 0;
}
void drop(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_DECREF(reinterpret_cast<Wrapped*>(self)->function);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(reinterpret_cast<Wrapped*>(self)->function); }
PyObject* function_of(PyObject* self, void*) { return Py_NewRef(reinterpret_cast<Wrapped*>(self)->function); }
PyObject* doc_of(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<Wrapped*>(self)->function, "__doc__");
}
PyObject* module_of(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<Wrapped*>(self)->function, "__module__");
}

// Copies and pickles by its name, as a method descriptor does.
PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* name = PyObject_GetAttrString(self, "__name__");
  return name ? Py_BuildValue(
                    "N(ON)", PyObject_GetAttrString(PyImport_AddModule("builtins"), "getattr"), TensorType, name)
              : nullptr;
}

PyMethodDef wrapped_methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMemberDef wrapped_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Wrapped, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef wrapped_getset[] = {{"__wrapped__", function_of, nullptr, nullptr, nullptr},
    {"__doc__", doc_of, nullptr, nullptr, nullptr}, {"__module__", module_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot wrapped_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(drop)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)}, {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
    {Py_tp_getattro, reinterpret_cast<void*>(attribute)}, {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, wrapped_methods}, {Py_tp_members, wrapped_members}, {Py_tp_getset, wrapped_getset}, {0, nullptr}};
PyType_Spec wrapped_spec{"torch._C._TensorMethod", sizeof(Wrapped), 0,
    unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR),
    wrapped_slots};

PyObject* overridable(PyObject*, PyObject* function) {
  auto* w = reinterpret_cast<Wrapped*>(WrappedType->tp_alloc(WrappedType, 0));
  if (!w) return nullptr;
  w->vectorcall = call;
  w->function = Py_NewRef(function);
  return reinterpret_cast<PyObject*>(w);
}

PyMethodDef override_functions[] = {
    {"overridable", overridable, METH_O, "A method of Tensor, written in Python, that __torch_function__ sees."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* overridable_method(PyMethodDef* original) {
  bool hash = std::strcmp(original->ml_name, "__hash__") == 0;
  PyCFunction form = method_count < kMost && !hash ? form_of(method_count, original->ml_flags) : nullptr;
  if (!form) return PyDescr_NewMethod(TensorBaseType, original);
  Method& m = methods[method_count++];
  m.original = m.seen = *original;
  m.seen.ml_meth = form;
  m.descriptor = PyDescr_NewMethod(TensorBaseType, &m.seen);
  return Py_XNewRef(m.descriptor);
}

PyObject* overridable_attribute(PyGetSetDef* original) {
  auto* a = new Attribute{*original, *original, nullptr};  // lives as long as the type
  a->seen.get = get;
  a->seen.set = original->set ? set : nullptr;
  a->seen.closure = a;
  a->descriptor = PyDescr_NewGetSet(TensorBaseType, &a->seen);
  return Py_XNewRef(a->descriptor);
}

int bind_override(PyObject* module) {
  WrappedType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&wrapped_spec));
  return WrappedType ? PyModule_AddFunctions(module, override_functions) : -1;
}

}  // namespace shim
