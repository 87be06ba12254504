// Tensor handles of the stable C ABI: making, asking, dropping. Any thread, no GIL.
#include <cstring>

#include "abi/abi.h"
#include "autograd/autograd.h"
#include "core/lazy_clone.h"
#include "ops/kernels.h"

namespace shim::abi {

Handle undefined_handle() noexcept {
  static char nobody;  // an address that no tensor has
  return reinterpret_cast<Handle>(&nobody);
}

TensorImpl& tensor_of(Handle h) {
  CHECK(Kind::Runtime, h, "a null tensor handle was given");
  CHECK(
      Kind::Runtime, h != undefined_handle(), "Expected a proper Tensor but got None (or an undefined Tensor in C++)");
  return *h;
}

Device make_device(int32_t type, int32_t index) {
  CHECK(Kind::Runtime, type >= 0 && type <= int32_t(DeviceType::privateuse1), "device type ", type, " does not exist");
  if (DeviceType(type) == DeviceType::cpu) return Device{};
  CHECK(Kind::Runtime, index >= -1 && index < 128, "device index ", index, " is out of range");
  return Device{DeviceType(type), int8_t(index)};
}

DType make_dtype(int32_t number) {
  CHECK(Kind::Runtime, number >= 0 && number < kDTypeSlots && itemsize(DType(number)), "ScalarType ", number,
      " does not exist here");
  return DType(number);
}

namespace {

Tensor allocated(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device) {
  Tensor t;
  if (device.is_cpu())
    t = empty_strided(sizes, strides, dtype, device);
  else
    with_gil([&] { t = empty_strided(sizes, strides, dtype, device); });
  return t;
}

struct BlobDeleter {
  void (*function)(void*, void*);
  void* context;
};

void run_blob_deleter(void* context, void* data) {
  auto* d = static_cast<BlobDeleter*>(context);
  d->function(data, d->context);
  delete d;
}

Tensor from_blob(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset, int32_t dtype,
    int32_t device_type, int32_t device_index, int32_t layout, void (*deleter)(void*, void*), void* context) {
  CHECK(Kind::Runtime, layout == 0, "from_blob: only strided tensors are supported, but layout ", layout, " was given");
  CHECK(Kind::Runtime, ndim >= 0 && ndim <= kMaxDims, "from_blob: ", ndim, " dimensions");
  const IntArrayRef shape{sizes, size_t(ndim)}, steps{strides, size_t(ndim)};
  for (int64_t n : shape) CHECK(Kind::Runtime, n >= 0, "from_blob: negative size ", n);
  const DType type = make_dtype(dtype);
  const Device device = make_device(device_type, device_index);
  if (!data) {
    Tensor fresh = allocated(shape, steps, type, device);
    if (deleter) deleter(data, context);
    return fresh;
  }
  const size_t bytes = storage_bytes(shape, steps, itemsize(type)) + size_t(offset) * itemsize(type);
  auto* owner = deleter ? new BlobDeleter{deleter, context} : nullptr;
  Ref<Storage> storage = make<Storage>(data, bytes, device, owner ? run_blob_deleter : nullptr, owner);
  storage->set_resizable(false);
  return make<TensorImpl>(std::move(storage), type, shape, steps, offset);
}

Scalar number_of(Handle h) {
  TensorImpl& t = tensor_of(h);
  CHECK(Kind::Runtime, t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  Scalar n;
  if (t.device().is_cpu())
    n = item(Tensor(&t));
  else
    with_gil([&] { n = item(Tensor(&t)); });
  return n;
}

template <class T> T cast(const Scalar& n) {
  if (n.type == Scalar::Float || n.type == Scalar::Complex) return T(n.f);
  return T(n.i);
}

}  // namespace
}  // namespace shim::abi

using namespace shim;
using namespace shim::abi;

SHIM_EXPORT Err aoti_torch_new_tensor_handle(Handle original, Handle* result) {
  return caught([&] {
    CHECK(Kind::Runtime, original, "a null tensor handle was given");
    if (is_defined(original)) original->retain();
    *result = original;
  });
}
SHIM_EXPORT Err aoti_torch_new_uninitialized_tensor(Handle* result) {
  *result = undefined_handle();
  return 0;
}
SHIM_EXPORT Err aoti_torch_delete_tensor_object(Handle h) {
  return caught([&] {
    if (is_defined(h)) h->release();
  });
}
SHIM_EXPORT Err aoti_torch_is_defined(Handle h, bool* result) {
  *result = is_defined(h);
  return 0;
}

// Err name(handle, T* result) that only reads the tensor.
#define SHIM_GETTER(name, type, expression)      \
  SHIM_EXPORT Err name(Handle h, type* result) { \
    return caught([&] {                          \
      TensorImpl& t = tensor_of(h);              \
      *result = expression;                      \
    });                                          \
  }

SHIM_GETTER(aoti_torch_get_data_ptr, void*, (own_data(*t.storage()), t.storage()->expose(), t.data()))
SHIM_GETTER(torch_get_mutable_data_ptr, void*, (own_data(*t.storage()), t.storage()->expose(), t.data()))
SHIM_GETTER(torch_get_const_data_ptr, const void*, (t.storage()->expose(), t.data()))
SHIM_GETTER(aoti_torch_get_dim, int64_t, t.dim())
SHIM_GETTER(aoti_torch_get_numel, int64_t, t.numel())
SHIM_GETTER(aoti_torch_get_dtype, int32_t, int32_t(t.dtype()))
SHIM_GETTER(aoti_torch_get_device_type, int32_t, int32_t(t.device().type))
SHIM_GETTER(aoti_torch_get_device_index, int32_t, int32_t(t.device().index))
SHIM_GETTER(aoti_torch_get_storage_offset, int64_t, t.storage_offset())
SHIM_GETTER(aoti_torch_get_storage_size, int64_t, int64_t(t.storage()->nbytes()))
SHIM_GETTER(aoti_torch_get_storage_numel, int64_t, int64_t(t.storage()->nbytes() / t.itemsize()))
SHIM_GETTER(aoti_torch_is_contiguous, bool, t.is_contiguous())
SHIM_GETTER(aoti_torch_get_sizes, int64_t*, const_cast<int64_t*>(t.sizes_data()))
SHIM_GETTER(aoti_torch_get_strides, int64_t*, const_cast<int64_t*>(t.strides_data()))
SHIM_GETTER(aoti_torch_get_layout, int32_t, (void(t), 0))
SHIM_GETTER(torch_has_storage, bool, bool(t.storage()))

namespace {
TensorImpl& with_dimension(Handle h, int64_t d) {
  TensorImpl& t = tensor_of(h);
  CHECK(Kind::Index, t.dim(), "Dimension specified as ", d, " but tensor has no dimensions");
  return t;
}
}  // namespace

SHIM_EXPORT Err aoti_torch_get_size(Handle h, int64_t d, int64_t* result) {
  return caught([&] { *result = with_dimension(h, d).size(d); });
}
SHIM_EXPORT Err aoti_torch_get_stride(Handle h, int64_t d, int64_t* result) {
  return caught([&] { *result = with_dimension(h, d).stride(d); });
}

#define SHIM_ITEM(name, type)                                      \
  SHIM_EXPORT Err aoti_torch_item_##name(Handle h, type* result) { \
    return caught([&] { *result = cast<type>(number_of(h)); });    \
  }
SHIM_ITEM(float32, float)
SHIM_ITEM(float64, double)
SHIM_ITEM(uint8, uint8_t)
SHIM_ITEM(uint16, uint16_t)
SHIM_ITEM(uint32, uint32_t)
SHIM_ITEM(uint64, uint64_t)
SHIM_ITEM(int8, int8_t)
SHIM_ITEM(int16, int16_t)
SHIM_ITEM(int32, int32_t)
SHIM_ITEM(int64, int64_t)
SHIM_EXPORT Err aoti_torch_item_bool(Handle h, bool* result) {
  return caught([&] {
    Scalar n = number_of(h);
    *result = n.type == Scalar::Float || n.type == Scalar::Complex ? n.f != 0 || n.imag != 0 : n.i != 0;
  });
}
SHIM_EXPORT Err aoti_torch_item_float16(Handle h, uint16_t* result) {
  return caught([&] { store_number(result, DType::f16, number_of(h)); });
}
SHIM_EXPORT Err aoti_torch_item_bfloat16(Handle h, uint16_t* result) {
  return caught([&] { store_number(result, DType::bf16, number_of(h)); });
}
SHIM_EXPORT Err aoti_torch_item_complex64(Handle h, void* result) {
  return caught([&] { store_number(result, DType::c64, number_of(h)); });
}

#define SHIM_SCALAR(name, ctype, kind, member, dtype)                               \
  SHIM_EXPORT Err aoti_torch_scalar_to_tensor_##name(ctype value, Handle* result) { \
    return caught([&] {                                                             \
      Tensor t = empty({}, DType::dtype, Device{});                                 \
      std::memcpy(t->data(), &value, sizeof value);                                 \
      *result = t.detach();                                                         \
    });                                                                             \
  }
SHIM_SCALAR(float32, float, Float, f, f32)
SHIM_SCALAR(float64, double, Float, f, f64)
SHIM_SCALAR(uint8, uint8_t, Int, i, u8)
SHIM_SCALAR(uint16, uint16_t, Int, i, u16)
SHIM_SCALAR(uint32, uint32_t, Int, i, u32)
SHIM_SCALAR(uint64, uint64_t, Int, i, u64)
SHIM_SCALAR(int8, int8_t, Int, i, i8)
SHIM_SCALAR(int16, int16_t, Int, i, i16)
SHIM_SCALAR(int32, int32_t, Int, i, i32)
SHIM_SCALAR(int64, int64_t, Int, i, i64)
SHIM_SCALAR(bool, bool, Bool, i, b8)

SHIM_EXPORT Err aoti_torch_create_tensor_from_blob(void* data, int64_t ndim, const int64_t* sizes,
    const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index, Handle* result) {
  return caught([&] {
    *result =
        from_blob(data, ndim, sizes, strides, offset, dtype, device_type, device_index, 0, nullptr, nullptr).detach();
  });
}
SHIM_EXPORT Err aoti_torch_create_tensor_from_blob_v2(void* data, int64_t ndim, const int64_t* sizes,
    const int64_t* strides, int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index, Handle* result,
    int32_t layout, const uint8_t*, int64_t) {
  return caught([&] {
    *result = from_blob(data, ndim, sizes, strides, offset, dtype, device_type, device_index, layout, nullptr, nullptr)
                  .detach();
  });
}
SHIM_EXPORT Err torch_from_blob(void* data, int64_t ndim, const int64_t* sizes, const int64_t* strides, int64_t offset,
    int32_t dtype, int32_t device_type, int32_t device_index, Handle* result, int32_t layout, const uint8_t*, int64_t,
    void (*deleter)(void*, void*), void* context) {
  return caught([&] {
    *result = from_blob(data, ndim, sizes, strides, offset, dtype, device_type, device_index, layout, deleter, context)
                  .detach();
  });
}
SHIM_EXPORT Err aoti_torch_empty_strided(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype,
    int32_t device_type, int32_t device_index, Handle* result) {
  return caught([&] {
    *result = allocated(
        {sizes, size_t(ndim)}, {strides, size_t(ndim)}, make_dtype(dtype), make_device(device_type, device_index))
                  .detach();
  });
}

SHIM_EXPORT Err torch_set_requires_grad(Handle h, bool on) {
  return caught([&] {
    TensorImpl& t = tensor_of(h);
    CHECK(Kind::Runtime, !on || is_floating(t.dtype()) || is_complex(t.dtype()),
        "only Tensors of floating point and complex dtype can require gradients");
    if (on || t.autograd()) t.ensure_autograd().requires_grad = on;
  });
}
SHIM_EXPORT bool aoti_torch_grad_mode_is_enabled() { return GradMode::enabled(); }
SHIM_EXPORT void aoti_torch_grad_mode_set_enabled(bool on) { GradMode::set(on); }
