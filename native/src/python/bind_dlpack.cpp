// Memory shared with others: DLPack both ways and its C exchange API.
#include "abi/dlpack.h"
#include "python/module_parameters.h"
#include "python/object_methods.h"

namespace shim {

namespace {

template <class Managed> struct CapsuleNames {
  static constexpr const char *fresh = "dltensor", *used = "used_dltensor";
};
template <> struct CapsuleNames<DLManagedTensorVersioned> {
  static constexpr const char *fresh = "dltensor_versioned", *used = "used_dltensor_versioned";
};

template <class Managed> Managed* managed_in(PyObject* capsule) {  // null: of the other kind, or consumed
  const char* name = CapsuleNames<Managed>::fresh;
  return PyCapsule_IsValid(capsule, name) ? static_cast<Managed*>(PyCapsule_GetPointer(capsule, name)) : nullptr;
}

void drop_capsule(PyObject* capsule) {
  if (auto* m = managed_in<DLManagedTensor>(capsule)) m->deleter(m);
  if (auto* m = managed_in<DLManagedTensorVersioned>(capsule)) m->deleter(m);
}

template <class Managed> PyObject* capsule_of(Managed* m) {
  return PyCapsule_New(m, CapsuleNames<Managed>::fresh, drop_capsule);
}

template <class Managed> Tensor consumed(PyObject* capsule, Managed* m) {
  Tensor t = from_dlpack(m);
  PyCapsule_SetName(capsule, CapsuleNames<Managed>::used);
  return t;
}

using Given = std::optional<PyObject*>;

PyObject* to_capsule(PyObject* self, Given stream, Given max_version, Given dl_device, Given copy) {
  Tensor t(unwrap(self));
  check_exported(*t);
  if (stream) {
    CHECK(Kind::Type, PyLong_CheckExact(*stream), "stream must be ``int`` or ``none``");
    CHECK(Kind::Assertion, !t->device().is_cpu(), "stream should be None on cpu.");
  }
  if (dl_device) {
    int type = 0, id = 0;
    if (!PyArg_ParseTuple(*dl_device, "ii", &type, &id)) return nullptr;
    check_exported_to(*t, type, id);
  }
  const bool copied = copy == Py_True;
  if (copied) t = Tensor(unwrap(owned(PyObject_CallMethod(self, "clone", nullptr))));
  dlpack_order_streams(*t, stream ? PyLong_AsLongLong(*stream) : t->device().is_cuda() ? 1 : -1);
  if (PyErr_Occurred()) return nullptr;
  const long major = max_version ? PyLong_AsLong(owned(PySequence_GetItem(*max_version, 0))) : 0;
  if (major < 1) return capsule_of(dlpack_of<DLManagedTensor>(*t));
  auto* m = dlpack_of<DLManagedTensorVersioned>(*t);
  if (copied) m->flags |= kIsCopied;
  return capsule_of(m);
}

std::tuple<int, int> device_method(const TensorImpl& t) {
  CHECK(Kind::Value, !t.device().is_meta(), "Unknown device type meta for Dlpack");
  const DLDevice d = dlpack_device(t.device());
  return {int(d.device_type), int(d.device_id)};
}

Tensor from_capsule(PyObject* capsule) {
  CHECK(Kind::Type, PyCapsule_CheckExact(capsule), "from_dlpack: expected a DLPack capsule, got ",
      Py_TYPE(capsule)->tp_name);
  if (auto* m = managed_in<DLManagedTensorVersioned>(capsule)) return consumed(capsule, m);
  auto* m = managed_in<DLManagedTensor>(capsule);
  CHECK(Kind::Runtime, m,
      "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
      "you might have already constructed a tensor from it once.");
  return consumed(capsule, m);
}

PyObject* to_dlpack(PyObject* tensor) {
  CHECK(Kind::Type, is_tensor(tensor), "to_dlpack: expected a torch.Tensor, got ", Py_TYPE(tensor)->tp_name);
  return capsule_of(dlpack_of<DLManagedTensor>(*unwrap(tensor)));
}

// --- the C exchange API ---------------------------------------------------------------------------------------------------

const TensorImpl& tensor_in(void* object) {
  auto* o = static_cast<PyObject*>(object);
  CHECK(Kind::Type, is_tensor(o), "expected a torch.Tensor, got ", Py_TYPE(o)->tp_name);
  return *unwrap(o);
}

int api_from_object(void* object, DLManagedTensorVersioned** out) {
  return assigned([&] { *out = dlpack_of<DLManagedTensorVersioned>(tensor_in(object)); });
}

int api_to_object(DLManagedTensorVersioned* m, void** out) {
  *out = guarded([&]() -> PyObject* { return wrap(from_dlpack(m)); });
  return *out ? 0 : -1;
}

int api_view(void* object, DLTensor* out) {
  return assigned([&] { fill_dlpack(out, tensor_in(object)); });
}

DLPackExchangeAPI exchange_api = {
    {{1, 3}, nullptr}, dlpack_allocate, api_from_object, api_to_object, api_view, dlpack_stream};

const TensorPart exchange_methods{{object_method<&to_capsule, "self stream max_version dl_device copy">("__dlpack__"),
    object_method<&device_method>("__dlpack_device__")}};
int add_exchange_api(PyObject*) {
  const OwnedRef api{PyCapsule_New(&exchange_api, "dlpack_exchange_api", nullptr)};
  for (PyTypeObject* type : {TensorBaseType, TensorType})
    if (!api.o || PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__", api) < 0)
      return -1;
  return 0;
}

const ModulePart exchange_functions{
    {function<&from_capsule>("from_dlpack_capsule"), function<&to_dlpack>("to_dlpack")}, add_exchange_api};

}  // namespace

}  // namespace shim
