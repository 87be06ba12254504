// Memory shared with others: DLPack both ways and its C exchange API.
#include "abi/dlpack.h"
#include "core/sparse.h"
#include "python/module_parameters.h"
#include "python/object_methods.h"

namespace shim {

namespace {

constexpr const char *kName = "dltensor", *kUsed = "used_dltensor", *kNameV = "dltensor_versioned",
                     *kUsedV = "used_dltensor_versioned";

void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName)) {
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
    m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, kNameV)) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kNameV));
    m->deleter(m);
  }
}

using Given = std::optional<PyObject*>;

PyObject* to_capsule(PyObject* self, Given stream, Given max_version, Given dl_device, Given copy) {
  Tensor t(unwrap(self));
  CHECK(Kind::Buffer, !is_sparse(*t), "Can't export tensors with layout other than torch.strided");
  CHECK(Kind::Buffer, !t->requires_grad(), "Can't export tensors that require gradient, use tensor.detach()");
  CHECK(Kind::Buffer, !t->is_conj, "Can't export tensors with the conjugate bit set");
  if (stream) {
    CHECK(Kind::Type, PyLong_CheckExact(*stream), "stream must be ``int`` or ``none``");
    CHECK(Kind::Assertion, !t->device().is_cpu(), "stream should be None on cpu.");
  }
  if (dl_device) {
    int type = 0, id = 0;
    if (!PyArg_ParseTuple(*dl_device, "ii", &type, &id)) return nullptr;
    DLDevice own = dlpack_device(t->device());
    CHECK(Kind::Buffer, type == own.device_type && (id == own.device_id || type == kDlCpu), "cannot move (tensor from ",
        to_string(t->device()), ") to DLPack device (", type, ", ", id, "): copy it there first");
  }
  const bool copied = copy == Py_True;
  if (copied) t = Tensor(unwrap(owned(PyObject_CallMethod(self, "clone", nullptr))));
  dlpack_order_streams(*t, stream ? PyLong_AsLongLong(*stream) : t->device().is_cuda() ? 1 : -1);
  if (PyErr_Occurred()) return nullptr;
  const long major = max_version ? PyLong_AsLong(owned(PySequence_GetItem(*max_version, 0))) : 0;
  if (major < 1) return PyCapsule_New(dlpack_of<DLManagedTensor>(*t), kName, drop_capsule);
  auto* m = dlpack_of<DLManagedTensorVersioned>(*t);
  if (copied) m->flags |= kIsCopied;
  return PyCapsule_New(m, kNameV, drop_capsule);
}

std::tuple<int, int> device_method(const TensorImpl& t) {
  CHECK(Kind::Value, !t.device().is_meta(), "Unknown device type meta for Dlpack");
  const DLDevice d = dlpack_device(t.device());
  return {int(d.device_type), int(d.device_id)};
}

Tensor from_capsule(PyObject* capsule) {
  CHECK(Kind::Type, PyCapsule_CheckExact(capsule), "from_dlpack: expected a DLPack capsule, got ",
      Py_TYPE(capsule)->tp_name);
  if (PyCapsule_IsValid(capsule, kNameV)) {
    auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kNameV));
    CHECK(Kind::Buffer, m->version.major <= 1, "from_dlpack: unsupported DLPack version ", m->version.major, ".",
        m->version.minor);
    Tensor t = from_dlpack(m);
    PyCapsule_SetName(capsule, kUsedV);
    return t;
  }
  CHECK(Kind::Runtime, PyCapsule_IsValid(capsule, kName),
      "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
      "you might have already constructed a tensor from it once.");
  Tensor t = from_dlpack(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)));
  PyCapsule_SetName(capsule, kUsed);
  return t;
}

PyObject* to_dlpack(PyObject* tensor) {
  CHECK(Kind::Type, is_tensor(tensor), "to_dlpack: expected a torch.Tensor, got ", Py_TYPE(tensor)->tp_name);
  return PyCapsule_New(dlpack_of<DLManagedTensor>(*unwrap(tensor)), kName, drop_capsule);
}

// --- the C exchange API ---------------------------------------------------------------------------------------------------

int api_from_object(void* object, DLManagedTensorVersioned** out) {
  auto* o = static_cast<PyObject*>(object);
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %s", Py_TYPE(o)->tp_name), -1;
  return assigned([&] { *out = dlpack_of<DLManagedTensorVersioned>(*unwrap(o)); });
}

int api_to_object(DLManagedTensorVersioned* m, void** out) {
  *out = guarded([&]() -> PyObject* { return wrap(from_dlpack(m)); });
  return *out ? 0 : -1;
}

int api_view(void* object, DLTensor* out) {
  auto* o = static_cast<PyObject*>(object);
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %s", Py_TYPE(o)->tp_name), -1;
  return assigned([&] { fill_dlpack(out, *unwrap(o)); });
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
