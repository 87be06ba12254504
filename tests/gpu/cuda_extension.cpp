// The CUDA functions of PyTorch's stable C interface, from an extension that needs no CUDA to be compiled.
#include <cstdint>
#include <stdexcept>

using Value = uint64_t;
using Tensor = struct TensorOpaque*;
using Library = struct LibraryOpaque*;
using Guard = struct GuardOpaque*;
using Kernel = void (*)(Value*, uint64_t, uint64_t);

extern "C" {
int32_t aoti_torch_library_init_def(const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, Library*);
int32_t aoti_torch_library_def(Library, const char*);
int32_t torch_library_impl(Library, const char*, Kernel, uint64_t);
int32_t aoti_torch_get_current_cuda_stream(int32_t, void**);
int32_t torch_set_current_cuda_stream(void*, int32_t);
int32_t torch_get_cuda_stream_from_pool(bool, int32_t, void**);
int32_t torch_cuda_stream_synchronize(void*, int32_t);
int32_t aoti_torch_create_device_guard(int32_t, Guard*);
int32_t aoti_torch_delete_device_guard(Guard);
int32_t aoti_torch_get_current_device_index(int32_t*);
int32_t aoti_torch_get_device_index(Tensor, int32_t*);
int32_t aoti_torch_delete_tensor_object(Tensor);
int32_t aoti_torch_item_int64(Tensor, int64_t*);
int32_t torch_call_dispatcher(const char*, const char*, Value*, uint64_t);
int32_t torch_get_current_cuda_blas_handle(void**);
const char* torch_exception_get_what_without_backtrace();
}

namespace {

void check(int32_t error) {
  if (error) throw std::runtime_error(torch_exception_get_what_without_backtrace());
}
Tensor tensor(Value v) { return reinterpret_cast<Tensor>(v); }

// stream(Tensor x) -> int: the current one of the tensor's device
void stream(Value* stack, uint64_t, uint64_t) {
  int32_t device;
  void* s;
  check(aoti_torch_get_device_index(tensor(stack[0]), &device));
  check(aoti_torch_delete_tensor_object(tensor(stack[0])));
  check(aoti_torch_get_current_cuda_stream(device, &s));
  stack[0] = reinterpret_cast<Value>(s);
}

// on_pool_stream(Tensor x) -> (Tensor, int): x * x on a stream of the pool, waited for
void on_pool_stream(Value* stack, uint64_t, uint64_t) {
  int32_t device;
  void *before, *pooled;
  check(aoti_torch_get_device_index(tensor(stack[0]), &device));
  check(aoti_torch_get_current_cuda_stream(device, &before));
  check(torch_cuda_stream_synchronize(before, device));
  check(torch_get_cuda_stream_from_pool(false, device, &pooled));
  check(torch_set_current_cuda_stream(pooled, device));
  Value call[2] = {stack[0], stack[1]};
  const int32_t failed = torch_call_dispatcher("aten::mul", "Tensor", call, 0);
  check(torch_cuda_stream_synchronize(pooled, device));
  check(torch_set_current_cuda_stream(before, device));
  check(failed);
  stack[0] = call[0];
  stack[1] = reinterpret_cast<Value>(pooled);
}

// device(int index) -> int: the current device within a guard
void device(Value* stack, uint64_t, uint64_t) {
  Guard guard;
  int32_t inside;
  check(aoti_torch_create_device_guard(int32_t(stack[0]), &guard));
  check(aoti_torch_get_current_device_index(&inside));
  check(aoti_torch_delete_device_guard(guard));
  stack[0] = Value(int64_t(inside));
}

void item(Value* stack, uint64_t, uint64_t) {
  int64_t n;
  check(aoti_torch_item_int64(tensor(stack[0]), &n));
  aoti_torch_delete_tensor_object(tensor(stack[0]));
  stack[0] = Value(n);
}

void blas(Value* stack, uint64_t, uint64_t) {
  void *first, *second;
  check(torch_get_current_cuda_blas_handle(&first));
  check(torch_get_current_cuda_blas_handle(&second));
  stack[0] = first && first == second;
}

struct Registration {
  Registration() {
    Library def, impl;
    aoti_torch_library_init_def("abi_cuda", __FILE__, __LINE__, &def);
    aoti_torch_library_init_impl("abi_cuda", "CompositeExplicitAutograd", __FILE__, __LINE__, &impl);
    for (const char* schema : {"stream(Tensor x) -> int", "on_pool_stream(Tensor x, Tensor y) -> (Tensor, int)",
             "device(int index) -> int", "item(Tensor x) -> int", "blas() -> bool"})
      aoti_torch_library_def(def, schema);
    torch_library_impl(impl, "stream", stream, 0);
    torch_library_impl(impl, "on_pool_stream", on_pool_stream, 0);
    torch_library_impl(impl, "device", device, 0);
    torch_library_impl(impl, "item", item, 0);
    torch_library_impl(impl, "blas", blas, 0);
  }
} registration;

}  // namespace
