// torch.Tensor: the type, its life cycle, and the identity between a C++ tensor and its Python object.

#include "python/object.h"

#include "python/kept_object.h"
#include "python/override.h"
#include "python/tensor_type.h"
#include "python/torch_dispatch.h"
#include "python/owned_ref.h"

namespace shim {

PyTypeObject* TensorType = nullptr;
PyTypeObject* TensorBaseType = nullptr;
PyObject* ParameterType = nullptr;

namespace {

// Recycled objects of exactly TensorType. They keep their type reference count while they wait.
constexpr int kMostFree = 256;
PyTensor* free_objects[kMostFree];
int free_count = 0;

PyTensor* as_py(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

// An object that its tensor would keep is not garbage, whatever the collector can see: what it holds is not shown.
bool kept(PyTensor* t) {
  return t->dict && t->impl && t->impl->pyobj == t && !t->impl->keeps_object() && t->impl->use_count() > 1;
}

// The tensor becomes an empty one: its memory is of an object that belongs to the same cycle.
Storage* nothing = nullptr;  // made at import: a collection must not fail
void forget_memory(TensorImpl* impl) {
  const int64_t size = 0, stride = 1;
  const Ref<Storage> memory = impl->storage();
  impl->set_geometry({&size, 1}, {&stride, 1}, 0);
  impl->set_storage(Ref<Storage>(nothing));
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (kept(as_py(self))) return 0;
  Py_VISIT(as_py(self)->dict);
  TensorImpl* impl = as_py(self)->impl;  // whose object this is shows what it holds, where the object is the tensor's
  return impl && !impl->keeps_object() ? visit_tensor(*impl, visit, arg) : 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_py(self)->dict);
  TensorImpl* impl = as_py(self)->impl;
  if (!impl || impl->keeps_object() || impl->use_count() != 1) return 0;
  if (impl->storage()->use_count() == 1 && owner_of(*impl->storage())) forget_memory(impl);
  if (impl->autograd()) impl->autograd()->clear();
  return 0;
}

bool keep(PyObject* self) {
  PyTensor* t = as_py(self);
  return keep_object(
      self, t->impl, (t->dict && PyDict_GET_SIZE(t->dict)) || t->weakrefs || Py_TYPE(self) != TensorType);
}
void finalize(PyObject* self) { keep(self); }

void dealloc(PyObject* self) {
  PyTensor* t = as_py(self);
  if (Py_TYPE(self) == TensorType) {  // Python subclasses have called finalize already
    if ((t->dict || t->weakrefs) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  }
  // The finalizer's mark stays on the memory, which is not recycled then: set above, or by a collection of a cycle.
  const bool finalized = t->dict || t->weakrefs || PyObject_GC_IsFinalized(self);
  PyObject_GC_UnTrack(self);
  if (t->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(t->dict);
  if (TensorImpl* impl = t->impl) {
    t->impl = nullptr;
    if (impl->pyobj == self) impl->pyobj = nullptr;
    impl->release();
  }
  if (Py_TYPE(self) == TensorType && !finalized && free_count < kMostFree) {
    free_objects[free_count++] = t;
    return;
  }
  free_object(self);
}

[[gnu::always_inline]] inline PyTensor* allocate_object(PyTypeObject* type) {
  if (type == TensorType && free_count) {
    PyTensor* t = free_objects[--free_count];
    PyObject* o = reinterpret_cast<PyObject*>(t);
    Py_SET_REFCNT(o, 1);
    PyObject_GC_Track(o);
    return t;
  }
  return as_py(type->tp_alloc(type, 0));
}

PyObject* adopt(TensorImpl* impl, PyTypeObject* type) {
  if (type != TensorType && reinterpret_cast<PyObject*>(type) != ParameterType) note_class(type);
  if (type != TensorType) note_finalizer<keep>(type);
  PyTensor* t = allocate_object(type);
  if (!t) return nullptr;
  impl->retain();
  t->impl = impl;
  t->dict = t->weakrefs = nullptr;
  impl->pyobj = t;
  return reinterpret_cast<PyObject*>(t);
}

// torch.Tensor(...): the old constructor, whose many forms are in Python (shim_torch._impl.tensor.constructor).
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (type == TensorBaseType)
    return PyErr_SetString(
               PyExc_RuntimeError, "Cannot directly construct TensorBase; subclass it and then construct that"),
           nullptr;
  return guarded([&] {
    const OwnedRef construct = imported("shim_torch._impl.tensor.constructor", "construct");
    return PyObject_CallFunction(construct, "OOO", type, args, kwargs ? kwargs : Py_None);
  });
}

PyMemberDef members[] = {offset_member("__dictoffset__", offsetof(PyTensor, dict)),
    offset_member("__weaklistoffset__", offsetof(PyTensor, weakrefs)), {}};

PyGetSetDef dict_getset[] = {dict_attribute(), {}};

PyType_Slot base_slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_finalize, finalize),
    slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear), slot(Py_tp_new, tensor_new), {Py_tp_members, members},
    {Py_tp_getset, dict_getset}, {}};
PyType_Spec base_spec = {"torch._C.TensorBase", sizeof(PyTensor), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, base_slots};

PyType_Slot tensor_slots[] = {documentation_slot("A multi-dimensional array of one element type, with gradients."),
    slot(Py_tp_dealloc, dealloc), slot(Py_tp_finalize, finalize), slot(Py_tp_traverse, traverse),
    slot(Py_tp_clear, clear), slot(Py_tp_new, tensor_new), {}};
PyType_Spec tensor_spec = {
    "torch.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

}  // namespace

PyObject* wrap(const Tensor& t) {
  if (!t) Py_RETURN_NONE;
  if (auto* o = static_cast<PyObject*>(t->pyobj)) { return t->keeps_object() ? take_object(*t, o) : Py_NewRef(o); }
  return adopt(t.get(), TensorType);
}

PyObject* wrap(Tensor&& t) {
  if (!t || t->pyobj) return wrap(t);
  PyTensor* o = allocate_object(TensorType);
  if (!o) return nullptr;
  t->pyobj = o;
  o->impl = t.detach();
  o->dict = o->weakrefs = nullptr;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap_as(const Tensor& t, PyTypeObject* type) {
  if (t->pyobj) {
    Tensor fresh = alias(*t);
    return adopt(fresh.get(), type);
  }
  return adopt(t.get(), type);
}

// Python runs a finalizer once, and notes that in the lowest bit of the second word of the collector's header.
void may_be_finalized_again(PyObject* o) {
  uintptr_t* header = reinterpret_cast<uintptr_t*>(o) - 2;
  header[1] &= ~uintptr_t(1);
}

namespace {

struct Part {
  std::vector<PyMethodDef> methods;
  std::vector<PyGetSetDef> attributes;
};
std::vector<Part>& parts() {  // which live as long as the type
  static auto* all = new std::vector<Part>();
  return *all;
}

bool add(const char* name, PyObject* descriptor) {
  const OwnedRef held{descriptor};
  return held.o && PyObject_SetAttrString(reinterpret_cast<PyObject*>(TensorBaseType), name, held) == 0;
}
PyObject* static_descriptor(PyMethodDef* method) {
  const OwnedRef function{PyCFunction_New(method, nullptr)};
  return function.o ? PyStaticMethod_New(function) : nullptr;
}

}  // namespace

TensorPart::TensorPart(std::initializer_list<PyMethodDef> methods, std::initializer_list<PyGetSetDef> attributes) {
  parts().push_back({methods, attributes});
}

int add_tensor_parts() {
  for (Part& part : parts()) {
    for (PyMethodDef& m : part.methods)
      if (!add(m.ml_name, m.ml_flags & METH_STATIC ? static_descriptor(&m) : overridable_method(&m))) return -1;
    for (PyGetSetDef& a : part.attributes)
      if (!add(a.name, overridable_attribute(&a))) return -1;
  }
  return 0;
}

int bind_tensor(PyObject* module) {
  RefCounted::left_alone = left_alone;
  nothing = allocate(0, Device{}).detach();
  TensorBaseType = add_type(module, base_spec, "TensorBase");
  TensorType = TensorBaseType ? add_type(module, tensor_spec, "Tensor", TensorBaseType) : nullptr;
  if (!TensorType) return -1;
  TensorType->tp_name = "Tensor";  // what texts call it; its module is torch
  return 0;
}

static void raise_accelerator_error(const Error& e) {
  const OwnedRef error{PyObject_CallFunction(accelerator_error_type, "s", e.what())};
  const OwnedRef code{PyLong_FromLong(e.code())};
  if (error.o && code.o && PyObject_SetAttrString(error, "error_code", code) == 0)
    PyErr_SetObject(accelerator_error_type, error);
}

void raise(const Error& e) {
  static const std::pair<Kind, PyObject*> types[] = {{Kind::Type, PyExc_TypeError}, {Kind::Value, PyExc_ValueError},
      {Kind::Index, PyExc_IndexError}, {Kind::NotImplemented, PyExc_NotImplementedError},
      {Kind::Attribute, PyExc_AttributeError}, {Kind::Overflow, PyExc_OverflowError},
      {Kind::Assertion, PyExc_AssertionError}, {Kind::Buffer, PyExc_BufferError},
      {Kind::ZeroDivision, PyExc_ZeroDivisionError}, {Kind::Memory, PyExc_MemoryError}};
  if (e.kind() == Kind::Accelerator && accelerator_error_type) return raise_accelerator_error(e);
  PyObject* type = e.kind() == Kind::OutOfMemory && out_of_memory_type ? out_of_memory_type : PyExc_RuntimeError;
  for (const auto& [kind, known] : types)
    if (kind == e.kind()) type = known;
  PyErr_SetString(type, e.what());
}

void raise_caught() {
  try {
    throw;
  } catch (const Error& e) { raise(e); } catch (const PythonError&) {
  } catch (const std::bad_alloc&) { PyErr_NoMemory(); } catch (const std::exception& e) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

PyObject *out_of_memory_type = nullptr, *accelerator_error_type = nullptr;

}  // namespace shim
