// Memory shared with others: DLPack both ways and its C exchange API.
#include <cstring>

#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "cuda/driver.h"
#include "python/dlpack.h"
#include "python/tensor_type.h"

namespace shim {

int bind_numpy(PyObject* module);  // bind_numpy.cpp

namespace {

struct CodeRow {
  DType dtype;
  DLDataType dl;
};
constexpr CodeRow kCodes[] = {{DType::b8, {6, 8, 1}}, {DType::u8, {1, 8, 1}}, {DType::i8, {0, 8, 1}},
    {DType::u16, {1, 16, 1}}, {DType::i16, {0, 16, 1}}, {DType::u32, {1, 32, 1}}, {DType::i32, {0, 32, 1}},
    {DType::u64, {1, 64, 1}}, {DType::i64, {0, 64, 1}}, {DType::f16, {2, 16, 1}}, {DType::f32, {2, 32, 1}},
    {DType::f64, {2, 64, 1}}, {DType::bf16, {4, 16, 1}}, {DType::c32, {5, 32, 1}}, {DType::c64, {5, 64, 1}},
    {DType::c128, {5, 128, 1}}, {DType::f8e4m3fn, {10, 8, 1}}, {DType::f8e4m3fnuz, {11, 8, 1}},
    {DType::f8e5m2, {12, 8, 1}}, {DType::f8e5m2fnuz, {13, 8, 1}}, {DType::f8e8m0fnu, {14, 8, 1}},
    {DType::f4e2m1fn_x2, {17, 4, 2}}};

DLDataType code_of(DType t) {
  for (const CodeRow& r : kCodes)
    if (r.dtype == t) return r.dl;
  fail(Kind::Buffer, "DLPack has no data type for torch.", dtype_name(t));
}

DType dtype_of_code(DLDataType d) {
  for (const CodeRow& r : kCodes)
    if (r.dl.code == d.code && r.dl.bits == d.bits && r.dl.lanes == d.lanes) return r.dtype;
  fail(Kind::Buffer, "from_dlpack: unsupported data type: code ", int(d.code), ", ", int(d.bits), " bits, ", d.lanes,
      " lanes");
}

DLDevice device_code(Device d) {
  CHECK(Kind::Buffer, !d.is_meta(), "Cannot pack tensors on meta");
  return d.is_cuda() ? DLDevice{kCuda, d.index < 0 ? 0 : d.index} : DLDevice{kCpu, 0};
}

void fill(DLTensor* out, TensorImpl* t) {
  CHECK(Kind::Buffer, !is_sparse(*t), "Can't export tensors with layout other than torch.strided");
  own_data(*t->storage());
  // data is the first element: byte_offset 0, as most consumers assume
  *out = {t->numel() ? t->data() : nullptr, device_code(t->device()), t->dim(), code_of(t->dtype()),
      const_cast<int64_t*>(t->sizes_data()), const_cast<int64_t*>(t->strides_data()), 0};
}

// The tensor whose memory a capsule lends is kept by the capsule's context; its sizes must not change meanwhile, so an
// alias is kept, not the tensor itself.
template <class Managed> Managed* manage(TensorImpl* t) {
  auto m = std::make_unique<Managed>();
  Tensor kept = alias(*t);
  fill(&m->dl_tensor, kept.get());
  kept->storage()->lend();
  m->manager_ctx = kept.detach();
  m->deleter = [](Managed* self) {
    const auto kept = Tensor::adopt(static_cast<TensorImpl*>(self->manager_ctx));
    kept->storage()->take_back();
    delete self;
  };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) m->version = {1, 3};
  return m.release();
}

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

// The consumer's stream waits for ours: stream 1 is the legacy default stream, 2 the per-thread one, -1 asks for nothing.
void order_streams(TensorImpl* t, long long consumer) {
  if (consumer == -1 || !t->device().is_cuda()) return;
  CHECK(Kind::Buffer, consumer != 0,
      "stream=0 is ambiguous for CUDA: use 1 (legacy default), 2 (per-thread default), or a stream's pointer");
  auto theirs = reinterpret_cast<cuda::CUstream>(consumer == 1 ? 0 : intptr_t(consumer));
  cuda::CUstream ours = cuda::current_stream(t->device().index);
  if (theirs == ours) return;
  const cuda::Driver& d = cuda::require("torch.Tensor.__dlpack__");
  cuda::CUevent event = nullptr;
  cuda::check(d.event_create(&event, 2), "cuEventCreate");
  d.event_record(event, ours);
  d.stream_wait_event(theirs, event, 0);
  d.event_destroy(event);
}

PyObject* to_capsule(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &max_version, &dl_device, &copy))
    return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor t(unwrap(self));
    CHECK(Kind::Buffer, !is_sparse(*t), "Can't export tensors with layout other than torch.strided");
    CHECK(Kind::Buffer, !t->requires_grad(), "Can't export tensors that require gradient, use tensor.detach()");
    CHECK(Kind::Buffer, !t->is_conj, "Can't export tensors with the conjugate bit set");
    if (stream != Py_None) {
      CHECK(Kind::Type, PyLong_CheckExact(stream), "stream must be ``int`` or ``none``");
      CHECK(Kind::Assertion, !t->device().is_cpu(), "stream should be None on cpu.");
    }
    if (dl_device != Py_None) {
      int type = 0, id = 0;
      if (!PyArg_ParseTuple(dl_device, "ii", &type, &id)) return nullptr;
      DLDevice own = device_code(t->device());
      CHECK(Kind::Buffer, type == own.device_type && (id == own.device_id || type == kCpu), "cannot move (tensor from ",
          to_string(t->device()), ") to DLPack device (", type, ", ", id, "): copy it there first");
    }
    if (copy == Py_True) {
      PyObject* cloned = PyObject_CallMethod(self, "clone", nullptr);
      if (!cloned) return nullptr;
      t = Tensor(unwrap(cloned));
      Py_DECREF(cloned);
    }
    order_streams(t.get(), stream == Py_None ? (t->device().is_cuda() ? 1 : -1) : PyLong_AsLongLong(stream));
    if (PyErr_Occurred()) return nullptr;
    long major = 0;
    if (max_version != Py_None) {
      PyObject* first = PySequence_GetItem(max_version, 0);
      if (!first) return nullptr;
      major = PyLong_AsLong(first);
      Py_DECREF(first);
    }
    if (major < 1) return PyCapsule_New(manage<DLManagedTensor>(t.get()), kName, drop_capsule);
    auto* m = manage<DLManagedTensorVersioned>(t.get());
    if (copy == Py_True) m->flags |= kIsCopied;
    return PyCapsule_New(m, kNameV, drop_capsule);
  });
}

PyObject* device_method(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Value, !unwrap(self)->device().is_meta(), "Unknown device type meta for Dlpack");
    DLDevice d = device_code(unwrap(self)->device());
    return Py_BuildValue("(ii)", d.device_type, d.device_id);
  });
}

// A tensor over somebody's memory, released by their deleter.
template <class Managed> Tensor borrow(Managed* m) {
  DLTensor& d = m->dl_tensor;
  Device where;
  if (d.device.device_type == kCuda || d.device.device_type == kCudaManaged)
    where = {DeviceType::cuda, int8_t(d.device.device_id)};
  else
    CHECK(Kind::Buffer, d.device.device_type == kCpu || d.device.device_type == kCudaHost,
        "from_dlpack: unsupported device_type: ", d.device.device_type);
  DType t = dtype_of_code(d.dtype);
  IntArrayRef sizes{d.shape, size_t(d.ndim)};
  Dims strides = d.strides ? Dims(d.strides, d.strides + d.ndim) : contiguous_strides(sizes);
  for (int64_t s : strides)
    CHECK(Kind::Buffer, s >= 0, "from_dlpack: negative strides are not supported; copy the array first");
  void* data = static_cast<char*>(d.data) + d.byte_offset;
  auto release = [](void* context, void*) {
    auto* self = static_cast<Managed*>(context);
    if (self->deleter) self->deleter(self);
  };
  Ref<Storage> storage(new Storage(data, storage_bytes(sizes, strides, itemsize(t)), where, release, m));
  storage->set_resizable(false);
  return Tensor(new TensorImpl(storage, t, sizes, strides, 0));
}

PyObject* from_capsule(PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, kNameV)) {
      auto* m = static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kNameV));
      CHECK(Kind::Buffer, m->version.major <= 1, "from_dlpack: unsupported DLPack version ", m->version.major, ".",
          m->version.minor);
      Tensor t = borrow(m);
      PyCapsule_SetName(capsule, kUsedV);
      return wrap(t);
    }
    CHECK(Kind::Runtime, PyCapsule_IsValid(capsule, kName),
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so "
        "you might have already constructed a tensor from it once.");
    Tensor t = borrow(static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName)));
    PyCapsule_SetName(capsule, kUsed);
    return wrap(t);
  });
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule))
    return PyErr_Format(PyExc_TypeError, "from_dlpack: expected a DLPack capsule, got %s", Py_TYPE(capsule)->tp_name);
  return from_capsule(capsule);
}

PyObject* to_dlpack(PyObject*, PyObject* tensor) {
  if (!is_tensor(tensor))
    return PyErr_Format(PyExc_TypeError, "to_dlpack: expected a torch.Tensor, got %s", Py_TYPE(tensor)->tp_name);
  return guarded(
      [&]() -> PyObject* { return PyCapsule_New(manage<DLManagedTensor>(unwrap(tensor)), kName, drop_capsule); });
}

// --- the C exchange API ---------------------------------------------------------------------------------------------------

int api_allocate(
    DLTensor* p, DLManagedTensorVersioned** out, void* context, void (*set_error)(void*, const char*, const char*)) {
  try {
    Device where = p->device.device_type == kCuda ? Device{DeviceType::cuda, int8_t(p->device.device_id)} : Device{};
    Tensor t = empty({p->shape, size_t(p->ndim)}, dtype_of_code(p->dtype), where);
    *out = manage<DLManagedTensorVersioned>(t.get());
    return 0;
  } catch (const std::exception& e) {
    if (set_error) set_error(context, "RuntimeError", e.what());
    return -1;
  }
}

int api_from_object(void* object, DLManagedTensorVersioned** out) {
  auto* o = static_cast<PyObject*>(object);
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %s", Py_TYPE(o)->tp_name), -1;
  return guarded([&]() -> int {
    *out = manage<DLManagedTensorVersioned>(unwrap(o));
    return 1;
  }) == 1
             ? 0
             : -1;
}

int api_to_object(DLManagedTensorVersioned* m, void** out) {
  *out = guarded([&]() -> PyObject* { return wrap(borrow(m)); });
  return *out ? 0 : -1;
}

int api_view(void* object, DLTensor* out) {
  auto* o = static_cast<PyObject*>(object);
  if (!is_tensor(o)) return PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %s", Py_TYPE(o)->tp_name), -1;
  return guarded([&]() -> int {
    fill(out, unwrap(o));
    return 1;
  }) == 1
             ? 0
             : -1;
}

int api_stream(int32_t type, int32_t id, void** out) {
  *out = type == kCuda ? static_cast<void*>(cuda::current_stream(id)) : nullptr;
  return 0;
}

DLPackExchangeAPI exchange_api = {
    {{1, 3}, nullptr}, api_allocate, api_from_object, api_to_object, api_view, api_stream};

PyMethodDef methods[] = {{"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(to_capsule)),
                             METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", device_method, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMethodDef exchange_functions[] = {{"from_dlpack_capsule", from_dlpack, METH_O, nullptr},
    {"to_dlpack", to_dlpack, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_exchange(PyObject* module) {
  if (add_to_tensor(methods, nullptr) < 0 || PyModule_AddFunctions(module, exchange_functions) < 0) return -1;
  PyObject* api = PyCapsule_New(&exchange_api, "dlpack_exchange_api", nullptr);
  if (!api) return -1;
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(TensorBaseType), "__dlpack_c_exchange_api__", api) < 0)
    return -1;
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(TensorType), "__dlpack_c_exchange_api__", api) < 0) return -1;
  Py_DECREF(api);
  return bind_numpy(module);
}

}  // namespace shim
