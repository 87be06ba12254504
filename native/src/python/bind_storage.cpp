// torch.UntypedStorage: the bytes under tensors.
#include <cstring>

#include "core/lazy_clone.h"
#include "ops/kernels.h"
#include "python/autograd_python.h"
#include "python/owned_ref.h"
#include "python/object.h"
#include "python/storage.h"
#include "python/tensor_type.h"

#include <structmember.h>

namespace shim {

PyTypeObject* StorageType;

namespace {

PyTypeObject* BaseType;  // torch._C.StorageBase

PyStorage* as_py(PyObject* o) { return reinterpret_cast<PyStorage*>(o); }
Storage* in(PyObject* o) { return storage_in(o); }

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(as_py(o)->dict);
  if (Storage* s = in(o); s && s->use_count() == 1) Py_VISIT(owner_of(*s));
  return 0;
}

int clear(PyObject* o) {
  Py_CLEAR(as_py(o)->dict);
  return 0;
}

void dealloc(PyObject* o) {
  PyStorage* p = as_py(o);
  PyObject_GC_UnTrack(o);
  if (p->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  if (Storage* s = in(o)) {
    p->storage = nullptr;
    if (s->pyobj == o) s->pyobj = nullptr;
    s->release();
  }
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* make(Ref<Storage> s, PyTypeObject* type) {
  auto* o = reinterpret_cast<PyStorage*>(type->tp_alloc(type, 0));
  if (!o) return nullptr;
  o->storage = s.detach();
  o->storage->pyobj = o;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (type == BaseType)
    return PyErr_SetString(
               PyExc_RuntimeError, "Cannot directly construct StorageBase; subclass it and then construct that"),
           nullptr;
  static const char* names[] = {"size", "device", nullptr};
  PyObject *size = nullptr, *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:UntypedStorage", const_cast<char**>(names), &size, &device))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Device where = device && device != Py_None ? device_of(device) : Device{};
    if (size && !PyIndex_Check(size)) {  // a sequence of byte values
      PyObject* bytes = PyBytes_FromObject(size);
      if (!bytes) return nullptr;
      Ref<Storage> s = allocate(size_t(PyBytes_GET_SIZE(bytes)), Device{});
      if (PyBytes_GET_SIZE(bytes)) std::memcpy(s->data(), PyBytes_AS_STRING(bytes), size_t(PyBytes_GET_SIZE(bytes)));
      const size_t count = size_t(PyBytes_GET_SIZE(bytes));
      Py_DECREF(bytes);
      return make(where.is_meta() ? allocate(count, where) : s, type);
    }
    OwnedRef count{size ? PyNumber_Index(size) : PyLong_FromLong(0)};  // NumPy's integers too
    if (!count.o) return nullptr;
    const long long n = PyLong_AsLongLong(count.o);
    if (n < 0)
      return PyErr_Occurred()
                 ? nullptr
                 : PyErr_Format(PyExc_RuntimeError, "UntypedStorage: size must not be negative, got %lld", n);
    return make(allocate(size_t(n), where), type);
  });
}

PyObject* nbytes(PyObject* o, PyObject*) { return PyLong_FromSize_t(in(o)->nbytes()); }
PyObject* element_size(PyObject*, PyObject*) { return PyLong_FromLong(1); }
PyObject* get_device(PyObject* o, void*) { return device_object(in(o)->device()); }
PyObject* get_cuda(PyObject* o, void*) { return PyBool_FromLong(in(o)->device().is_cuda()); }
PyObject* get_cdata(PyObject* o, void*) { return PyLong_FromVoidPtr(in(o)); }
PyObject* index_of_device(PyObject* o, PyObject*) {
  return PyLong_FromLong(in(o)->device().is_cpu() ? -1 : in(o)->device().index);
}
PyObject* is_resizable(PyObject* o, PyObject*) { return PyBool_FromLong(in(o)->resizable()); }
PyObject* is_pinned(PyObject* o, PyObject*) { return PyBool_FromLong(in(o)->pinned); }
Py_ssize_t length(PyObject* o) { return Py_ssize_t(in(o)->nbytes()); }

// A wrapper subclass's has a size and no memory.
bool of_wrapper(Storage* s) { return without_memory(*s) && !s->device().is_meta(); }

PyObject* data_ptr(PyObject* o, PyObject*) {
  if (of_wrapper(in(o)))
    return PyErr_SetString(PyExc_RuntimeError, "Attempted to access the data pointer on an invalid python storage."),
           nullptr;
  return guarded([&] {
    own_data(*in(o));
    in(o)->expose();
    return PyLong_FromVoidPtr(in(o)->data());
  });
}

Tensor bytes_of(Storage* s) {
  CHECK(Kind::Runtime, !of_wrapper(s), "Attempted to call copy_() on an invalid python storage.");
  int64_t sizes[] = {int64_t(s->nbytes())}, strides[] = {1};
  return Tensor(new TensorImpl(Ref<Storage>(s), DType::u8, sizes, strides, 0));
}

PyObject* moved(PyObject* o, Device where, bool always) {
  Storage* s = in(o);
  if (!always && s->device() == where) {
    Py_INCREF(o);
    return o;
  }
  return guarded([&]() -> PyObject* {
    Ref<Storage> to = allocate(s->nbytes(), where);
    if (s->nbytes()) copy_(bytes_of(to.get()), bytes_of(s));
    return make(to, StorageType);
  });
}
}  // namespace

PyObject* storage_on_cpu(PyObject* o, PyObject*) { return moved(o, Device{}, false); }

namespace {

PyObject* clone(PyObject* o, PyObject*) { return moved(o, in(o)->device(), true); }
PyObject* cuda(PyObject* o, PyObject* args) {
  PyObject* device = nullptr;
  if (!PyArg_ParseTuple(args, "|O:cuda", &device)) return nullptr;
  return guarded([&]() -> PyObject* {
    Device where = device && device != Py_None ? device_of(device) : Device{DeviceType::cuda, 0};
    if (where.index < 0) where.index = 0;
    return moved(o, where, false);
  });
}

PyObject* copy_method(PyObject* o, PyObject* args) {
  PyObject* source;
  int non_blocking = 0;
  if (!PyArg_ParseTuple(args, "O|p:copy_", &source, &non_blocking)) return nullptr;
  return guarded([&]() -> PyObject* {
    Ref<Storage> from = storage_of(source);
    CHECK(Kind::Type, from, "copy_(): expected a storage, not ", Py_TYPE(source)->tp_name);
    CHECK(Kind::Runtime, from->nbytes() == in(o)->nbytes(), "size does not match, self was ", in(o)->nbytes(),
        " bytes but src was ", from->nbytes(), " bytes");
    CHECK(Kind::Runtime, !of_wrapper(in(o)), "Attempted to call copy_() on an invalid python storage.");
    if (from.get() != in(o) && from->data() != in(o)->data() && from->nbytes())
      copy_(bytes_of(in(o)), bytes_of(from.get()), non_blocking);
    Py_INCREF(o);
    return o;
  });
}

PyObject* resize_method(PyObject* o, PyObject* size) {
  long long n = PyLong_AsLongLong(size);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, !of_wrapper(in(o)), "Attempted to call resize_() on an invalid python storage.");
    in(o)->resize(size_t(n));
    Py_INCREF(o);
    return o;
  });
}

// The bytes of `other`, which lie in memory that processes share, become this storage's; `other` is left with its old ones.
PyObject* become_shared(PyObject* o, PyObject* other) {
  Ref<Storage> from = storage_of(other);
  if (!from || from->nbytes() != in(o)->nbytes())
    return PyErr_SetString(PyExc_RuntimeError, "_become_shared_: expected a storage of the same size"), nullptr;
  from->set_resizable(false);
  own_data(*from);
  in(o)->swap_data(*from);
  Py_RETURN_NONE;
}

// The storage at an address that `_cdata` gave; whoever keeps such an address knows that the storage lives.
PyObject* at(PyObject*, PyObject* address) {
  void* p = PyLong_AsVoidPtr(address);
  return p ? storage_object(Ref<Storage>(static_cast<Storage*>(p))) : nullptr;
}

PyObject* reduce(PyObject* o, PyObject*) {
  PyObject* bytes = storage_bytes(o);
  return bytes ? Py_BuildValue("O(N)", reinterpret_cast<PyObject*>(StorageType), bytes) : nullptr;
}

PyObject* repr(PyObject* o) {
  PyObject* list = storage_tolist(o, nullptr);
  std::string values;
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); ++i)
    values += (i ? "\n " : " ") + std::to_string(PyLong_AsLong(PyList_GET_ITEM(list, i)));
  PyObject* text = list ? PyUnicode_FromString(values.empty() ? " " : values.c_str()) : nullptr;
  Py_XDECREF(list);
  PyObject* r = text ? PyUnicode_FromFormat("%U\n[torch.storage.UntypedStorage(device=%s) of size %zd]", text,
                           to_string(in(o)->device()).c_str(), length(o))
                     : nullptr;
  Py_XDECREF(text);
  return r;
}

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyStorage, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weakrefs), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef base_getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef getset[] = {{"device", get_device, nullptr, nullptr, nullptr},
    {"is_cuda", get_cuda, nullptr, nullptr, nullptr}, {"_cdata", get_cdata, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"data_ptr", data_ptr, METH_NOARGS, nullptr}, {"nbytes", nbytes, METH_NOARGS, nullptr},
    {"size", nbytes, METH_NOARGS, nullptr}, {"element_size", element_size, METH_NOARGS, nullptr},
    {"get_device", index_of_device, METH_NOARGS, nullptr}, {"resizable", is_resizable, METH_NOARGS, nullptr},
    {"is_pinned", is_pinned, METH_VARARGS, nullptr}, {"cpu", storage_on_cpu, METH_NOARGS, nullptr},
    {"cuda", cuda, METH_VARARGS, nullptr}, {"clone", clone, METH_NOARGS, nullptr},
    {"copy_", copy_method, METH_VARARGS, nullptr}, {"resize_", resize_method, METH_O, nullptr},
    {"_become_shared_", become_shared, METH_O, nullptr}, {"_at", at, METH_O | METH_STATIC, nullptr},
    {"_weak_ref", storage_weak_ref, METH_NOARGS, nullptr},
    {"_expired", storage_weak_expired, METH_O | METH_STATIC, nullptr},
    {"_free_weak_ref", storage_weak_drop, METH_O | METH_STATIC, nullptr},
    {"_new_with_weak_ptr", storage_from_weak, METH_O | METH_STATIC, nullptr},
    {"tolist", storage_tolist, METH_NOARGS, nullptr}, {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot base_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_members, members}, {Py_tp_getset, base_getset}, {Py_tp_new, reinterpret_cast<void*>(storage_new)},
    {Py_tp_doc, const_cast<char*>("What classes of storages have in common.")}, {0, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_new, reinterpret_cast<void*>(storage_new)}, {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_getset, getset}, {Py_tp_methods, methods}, {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_mp_subscript, reinterpret_cast<void*>(storage_subscript)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(storage_assign)},
    {Py_tp_doc, const_cast<char*>("The bytes under one or more tensors.")}, {0, nullptr}};
PyType_Spec base_spec = {"torch._C.StorageBase", sizeof(PyStorage), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, base_slots};
PyType_Spec spec = {"torch.storage.UntypedStorage", sizeof(PyStorage), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* storage_object(const Ref<Storage>& s) {
  if (s->pyobj) {
    auto* o = static_cast<PyObject*>(s->pyobj);
    Py_INCREF(o);
    return o;
  }
  return make(s, StorageType);
}

Ref<Storage> storage_of(PyObject* o) {
  if (PyObject_TypeCheck(o, BaseType)) return Ref<Storage>(in(o));
  PyObject* inner = PyObject_GetAttrString(o, "_untyped_storage");  // TypedStorage
  if (!inner) {
    PyErr_Clear();
    return {};
  }
  Ref<Storage> s = PyObject_TypeCheck(inner, StorageType) ? Ref<Storage>(in(inner)) : Ref<Storage>();
  Py_DECREF(inner);
  return s;
}

int bind_storage(PyObject* module) {
  PyObject* base = PyType_FromSpec(&base_spec);
  if (!base || PyObject_SetAttrString(module, "StorageBase", base) < 0) return -1;
  BaseType = reinterpret_cast<PyTypeObject*>(base);
  StorageType = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&spec, base));
  return StorageType ? PyObject_SetAttrString(module, "UntypedStorage", reinterpret_cast<PyObject*>(StorageType)) : -1;
}

}  // namespace shim
