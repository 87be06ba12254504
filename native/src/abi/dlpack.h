#pragma once
// DLPack 1.x: our own declarations of its stable C ABI, and tensors as what it lends.
#include <cstdint>

#include "core/tensor.h"

namespace shim {

struct DLPackVersion {
  uint32_t major, minor;
};
struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
constexpr int32_t kDlCpu = 1, kDlCuda = 2, kDlCudaHost = 3, kDlCudaManaged = 13;

// The C exchange API: a table of functions reachable from the tensor type, for callers that skip Python objects.
struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  DLPackExchangeAPIHeader* prev;
};
struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
      void (*set_error)(void*, const char* kind, const char* message));
  int (*managed_tensor_from_py_object_no_sync)(void* py_object, DLManagedTensorVersioned** out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** out);
  int (*dltensor_from_py_object_no_sync)(void* py_object, DLTensor* out);
  int (*current_work_stream)(int32_t device_type, int32_t device_id, void** out);
};

DLDevice dlpack_device(Device);
void fill_dlpack(DLTensor* out, const TensorImpl&);
void check_exported(const TensorImpl&);  // BufferError where a tensor is not to be lent
void check_exported_to(const TensorImpl&, int device_type, int device_id);
// A tensor lent to others, until they call the deleter; Managed: DLManagedTensor or DLManagedTensorVersioned.
template <class Managed> Managed* dlpack_of(const TensorImpl&);
template <class Managed> Tensor from_dlpack(Managed*);  // over somebody's memory, released by their deleter
// The consumer's stream waits for ours: stream 1 is the legacy default stream, 2 the per-thread one, -1 asks for nothing.
void dlpack_order_streams(const TensorImpl&, long long consumer);
// Of the exchange API.
int dlpack_allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
    void (*set_error)(void*, const char* kind, const char* message));
int dlpack_stream(int32_t device_type, int32_t device_id, void** out);

}  // namespace shim
