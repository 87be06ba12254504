#include "abi/dlpack.h"

#include <memory>

#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "cuda/driver.h"

namespace shim {
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

}  // namespace

DLDevice dlpack_device(Device d) {
  CHECK(Kind::Buffer, !d.is_meta(), "Cannot pack tensors on meta");
  return d.is_cuda() ? DLDevice{kDlCuda, d.index < 0 ? 0 : d.index} : DLDevice{kDlCpu, 0};
}

void fill_dlpack(DLTensor* out, const TensorImpl& t) {
  CHECK(Kind::Buffer, !is_sparse(t), "Can't export tensors with layout other than torch.strided");
  own_data(*t.storage());
  t.storage()->expose();
  // data is the first element: byte_offset 0, as most consumers assume
  *out = {t.numel() ? t.data() : nullptr, dlpack_device(t.device()), t.dim(), code_of(t.dtype()),
      const_cast<int64_t*>(t.sizes_data()), const_cast<int64_t*>(t.strides_data()), 0};
}

void check_exported(const TensorImpl& t) {
  CHECK(Kind::Buffer, !is_sparse(t), "Can't export tensors with layout other than torch.strided");
  CHECK(Kind::Buffer, !t.requires_grad(), "Can't export tensors that require gradient, use tensor.detach()");
  CHECK(Kind::Buffer, !t.is_conj, "Can't export tensors with the conjugate bit set");
}

void check_exported_to(const TensorImpl& t, int type, int id) {
  const DLDevice own = dlpack_device(t.device());
  CHECK(Kind::Buffer, type == own.device_type && (id == own.device_id || type == kDlCpu), "cannot move (tensor from ",
      to_string(t.device()), ") to DLPack device (", type, ", ", id, "): copy it there first");
}

// The tensor whose memory a capsule lends is kept by the capsule's context; its sizes must not change meanwhile, so an
// alias is kept, not the tensor itself.
template <class Managed> Managed* dlpack_of(const TensorImpl& t) {
  auto m = std::make_unique<Managed>();
  Tensor kept = alias(t);
  fill_dlpack(&m->dl_tensor, *kept);
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

template DLManagedTensor* dlpack_of(const TensorImpl&);
template DLManagedTensorVersioned* dlpack_of(const TensorImpl&);

template <class Managed> Tensor from_dlpack(Managed* m) {
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
    CHECK(Kind::Buffer, m->version.major <= 1, "from_dlpack: unsupported DLPack version ", m->version.major, ".",
        m->version.minor);
  DLTensor& d = m->dl_tensor;
  Device where;
  if (d.device.device_type == kDlCuda || d.device.device_type == kDlCudaManaged)
    where = {DeviceType::cuda, int8_t(d.device.device_id)};
  else
    CHECK(Kind::Buffer, d.device.device_type == kDlCpu || d.device.device_type == kDlCudaHost,
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

template Tensor from_dlpack(DLManagedTensor*);
template Tensor from_dlpack(DLManagedTensorVersioned*);

void dlpack_order_streams(const TensorImpl& t, long long consumer) {
  if (consumer == -1 || !t.device().is_cuda()) return;
  CHECK(Kind::Buffer, consumer != 0,
      "stream=0 is ambiguous for CUDA: use 1 (legacy default), 2 (per-thread default), or a stream's pointer");
  auto theirs = reinterpret_cast<cuda::CUstream>(consumer == 1 ? 0 : intptr_t(consumer));
  cuda::require("torch.Tensor.__dlpack__");
  const int device = t.device().index;  // the consumer's stream is one of this device
  cuda::order_streams(cuda::current_stream(device), device, theirs, device);
}

int dlpack_allocate(
    DLTensor* p, DLManagedTensorVersioned** out, void* context, void (*set_error)(void*, const char*, const char*)) {
  try {
    Device where = p->device.device_type == kDlCuda ? Device{DeviceType::cuda, int8_t(p->device.device_id)} : Device{};
    Tensor t = empty({p->shape, size_t(p->ndim)}, dtype_of_code(p->dtype), where);
    *out = dlpack_of<DLManagedTensorVersioned>(*t);
    return 0;
  } catch (const std::exception& e) {
    if (set_error) set_error(context, "RuntimeError", e.what());
    return -1;
  }
}

int dlpack_stream(int32_t type, int32_t id, void** out) {
  *out = type == kDlCuda ? static_cast<void*>(cuda::current_stream(id)) : nullptr;
  return 0;
}

}  // namespace shim
