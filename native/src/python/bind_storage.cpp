// torch.UntypedStorage: the bytes under tensors.
#include <cstring>

#include "core/lazy_clone.h"
#include "core/weak_storage.h"
#include "ops/storage_copy.h"
#include "python/kept_object.h"
#include "python/storage.h"

namespace shim {

PyTypeObject *StorageType, *StorageBaseType;

namespace {

PyStorage* as_py(PyObject* o) { return reinterpret_cast<PyStorage*>(o); }
Storage* in(PyObject* o) { return storage_in(o); }

bool keep(PyObject* o) {
  const PyStorage* p = as_py(o);
  return keep_object(o, p->storage, (p->dict && PyDict_GET_SIZE(p->dict)) || p->weakrefs || Py_TYPE(o) != StorageType);
}
void finalize(PyObject* o) { keep(o); }

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Storage* s = in(o);
  if (s && !s->keeps_object() && s->use_count() > 1)
    return 0;  // it would be kept: not garbage, whatever the collector can see
  Py_VISIT(as_py(o)->dict);
  if (s && !s->keeps_object()) Py_VISIT(owner_of(*s));  // else whose storage this is shows it
  return 0;
}

int clear(PyObject* o) {
  Py_CLEAR(as_py(o)->dict);
  return 0;
}

void dealloc(PyObject* o) {
  PyStorage* p = as_py(o);
  if (Py_TYPE(o) == StorageType && (p->dict || p->weakrefs) && PyObject_CallFinalizerFromDealloc(o) < 0) return;
  PyObject_GC_UnTrack(o);
  if (p->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  if (Storage* s = in(o)) {
    p->storage = nullptr;
    if (s->pyobj == o) s->pyobj = nullptr;
    s->release();
  }
  free_object(o);
}

PyObject* make(Ref<Storage> s, PyTypeObject* type) {
  if (type != StorageType) note_finalizer<keep>(type);
  auto* o = reinterpret_cast<PyStorage*>(type->tp_alloc(type, 0));
  if (!o) return nullptr;
  o->storage = s.detach();
  o->storage->pyobj = o;
  return reinterpret_cast<PyObject*>(o);
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (type == StorageBaseType)
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
      const OwnedRef bytes = owned(PyBytes_FromObject(size));
      const size_t count = size_t(PyBytes_GET_SIZE(bytes.o));
      Ref<Storage> s = allocate(count, where.is_meta() ? where : Device{});
      if (count && !where.is_meta()) std::memcpy(s->data(), PyBytes_AS_STRING(bytes.o), count);
      return make(s, type);
    }
    const OwnedRef count = owned(size ? PyNumber_Index(size) : PyLong_FromLong(0));  // NumPy's integers too
    const long long n = PyLong_AsLongLong(count.o);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    CHECK(Kind::Runtime, n >= 0, "UntypedStorage: size must not be negative, got ", n);
    return make(allocate(size_t(n), where), type);
  });
}

// --- attributes and methods ---------------------------------------------------------------------------------------------------

using S = Storage&;
using Maybe = std::optional<PyObject*>;

int64_t nbytes(S s) { return int64_t(s.nbytes()); }
Py_ssize_t length(PyObject* o) { return Py_ssize_t(in(o)->nbytes()); }

void* data_ptr(S s) {
  check_memory(s, "access the data pointer");
  own_data(s);
  s.expose();
  return s.data();
}

Ref<Storage> cuda(S s, Maybe device) {
  Device where = device ? device_of(*device) : Device{DeviceType::cuda, 0};
  if (where.index < 0) where.index = 0;
  return storage_on(s, where);
}

Ref<Storage> copy_from(S s, PyObject* source, std::optional<bool> non_blocking) {
  const Ref<Storage> from = storage_of(source);
  CHECK(Kind::Type, from, "copy_(): expected a storage, not ", Py_TYPE(source)->tp_name);
  copy_bytes(s, *from, non_blocking.value_or(false));
  return Ref<Storage>(&s);
}

Ref<Storage> resize(S s, PyObject* size) {
  const long long n = PyLong_AsLongLong(size);
  if (n == -1 && PyErr_Occurred()) throw PythonError();
  check_memory(s, "call resize_()");
  s.resize(size_t(n));
  return Ref<Storage>(&s);
}

// The bytes of `other`, which lie in memory that processes share, become this storage's; `other` is left with its old ones.
void become_shared(S s, PyObject* other) {
  const Ref<Storage> from = storage_of(other);
  CHECK(Kind::Runtime, from && from->nbytes() == s.nbytes(), "_become_shared_: expected a storage of the same size");
  from->set_resizable(false);
  own_data(*from);
  s.swap_data(*from);
}

// Weak references are numbers: the address of a WeakStorage.
void* weak_reference(S s) {
  CHECK(Kind::NotImplemented, !s.device().is_cuda(),
      "torch.UntypedStorage._weak_ref is not supported by shim-torch for memory of a GPU");
  return WeakStorage::of(s);
}

PyObject* storage_or_none(const Ref<Storage>& s) { return s ? storage_object(s) : Py_NewRef(Py_None); }

PyObject* reduce(S s) {
  return Py_BuildValue("O(N)", reinterpret_cast<PyObject*>(StorageType), owned(storage_bytes(s)).give());
}

PyObject* repr(PyObject* o) {
  return guarded([&]() -> PyObject* {
    const OwnedRef list = owned(storage_tolist(*in(o)));
    std::string values;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.o); ++i)
      values += (i ? "\n " : " ") + std::to_string(PyLong_AsLong(PyList_GET_ITEM(list.o, i)));
    return module_call::object(str(values.empty() ? " " : values,
        "\n[torch.storage.UntypedStorage(device=", to_string(in(o)->device()), ") of size ", length(o), "]"));
  });
}

PyMemberDef members[] = {offset_member("__dictoffset__", offsetof(PyStorage, dict)),
    offset_member("__weaklistoffset__", offsetof(PyStorage, weakrefs)), {}};
PyGetSetDef base_getset[] = {dict_attribute(), {}};
PyGetSetDef getset[] = {object_attribute<[](S s) { return device_object(s.device()); }>("device"),
    object_attribute<[](S s) { return s.device().is_cuda(); }>("is_cuda"),
    object_attribute<[](S s) { return &s; }>("_cdata"), {}};
PyMethodDef methods[] = {object_method<&data_ptr>("data_ptr"), object_method<&nbytes>("nbytes"),
    object_method<&nbytes>("size"), object_method<[](S) { return 1; }>("element_size"),
    object_method<[](S s) { return s.device().is_cpu() ? -1 : int(s.device().index); }>("get_device"),
    object_method<[](S s) { return s.resizable(); }>("resizable"),
    object_method<[](S s, Maybe) { return bool(s.pinned); }>("is_pinned"),
    object_method<[](S s) { return storage_on(s, Device{}); }>("cpu"), object_method<&cuda>("cuda"),
    object_method<[](S s) { return copy_of(s, s.device()); }>("clone"),
    object_method<&copy_from, "self source non_blocking">("copy_"), object_method<&resize>("resize_"),
    object_method<&become_shared>("_become_shared_"),
    static_method<[](Storage* s) { return storage_or_none(s); }>(
        "_at"),  // what `_cdata` gave: who keeps it knows that the storage lives
    object_method<&weak_reference>("_weak_ref"),
    static_method<[](WeakStorage* w) { return !w->storage(); }>("_expired"),
    static_method<[](WeakStorage* w) { w->drop(); }>("_free_weak_ref"),
    static_method<[](WeakStorage* w) { return storage_or_none(w->storage()); }>("_new_with_weak_ptr"),
    object_method<&storage_tolist>("tolist"), object_method<&reduce>("__reduce__"), {}};
PyType_Slot base_slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_finalize, finalize),
    slot(Py_tp_traverse, traverse), slot(Py_tp_clear, clear), {Py_tp_members, members}, {Py_tp_getset, base_getset},
    slot(Py_tp_new, storage_new), documentation_slot("What classes of storages have in common."), {}};
PyType_Slot slots[] = {slot(Py_tp_dealloc, dealloc), slot(Py_tp_finalize, finalize), slot(Py_tp_traverse, traverse),
    slot(Py_tp_clear, clear), slot(Py_tp_new, storage_new), slot(Py_tp_repr, repr), {Py_tp_getset, getset},
    {Py_tp_methods, methods}, slot(Py_mp_length, length), slot(Py_mp_subscript, storage_subscript),
    slot(Py_mp_ass_subscript, storage_assign), documentation_slot("The bytes under one or more tensors."), {}};
PyType_Spec base_spec = {"torch._C.StorageBase", sizeof(PyStorage), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, base_slots};
PyType_Spec spec = {"torch.storage.UntypedStorage", sizeof(PyStorage), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

PyObject* storage_object(const Ref<Storage>& s) {
  if (s->keeps_object()) return take_object(*s, s->pyobj);
  return s->pyobj ? Py_NewRef(static_cast<PyObject*>(s->pyobj)) : make(s, StorageType);
}

Ref<Storage> storage_of(PyObject* o) {
  if (PyObject_TypeCheck(o, StorageBaseType)) return Ref<Storage>(in(o));
  const OwnedRef inner{PyObject_GetAttrString(o, "_untyped_storage")};  // TypedStorage
  if (!inner.o) PyErr_Clear();
  return inner.o && PyObject_TypeCheck(inner.o, StorageType) ? Ref<Storage>(in(inner)) : Ref<Storage>();
}

int bind_storage(PyObject* module) {
  StorageBaseType = add_type(module, base_spec, "StorageBase");
  StorageType = StorageBaseType ? add_type(module, spec, "UntypedStorage", StorageBaseType) : nullptr;
  return StorageType ? 0 : -1;
}

}  // namespace shim
