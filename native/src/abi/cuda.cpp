// Devices, streams, memory and library handles of CUDA in the stable C ABI: the driver's and the current stream that all
// operators use (cuda/driver.h). Where no driver is, they fail with PyTorch's reason.
#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "abi/abi.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"

using namespace shim;
using namespace shim::abi;

namespace {

struct DeviceGuard {
  int before;
};
struct StreamGuard {
  int device_before, device;
  void* stream_before;
};
struct Stream {
  void* native;
  int device;
};

int device_or_current(int32_t index) { return index < 0 ? cuda::current_device() : index; }

void* current_stream(int32_t device) {
  void* stream = nullptr;
  with_gil([&] {
    cuda::before_outside();
    stream = cuda::current_stream(device);
  });
  return stream;
}

void set_stream(void* stream, int32_t device) {
  cuda::before_outside();
  cuda::require("torch_set_current_cuda_stream");
  CHECK(Kind::Runtime, host().set_stream, "torch_set_current_cuda_stream: the interpreter is not there");
  host().set_stream(stream, device_or_current(device));
}

Err make_guard(int32_t index, DeviceGuard** result) {
  return caught([&] {
    cuda::require("device guard");
    auto* guard = new DeviceGuard{cuda::current_device()};
    *result = guard;
    if (index >= 0 && index != guard->before) cuda::set_device(index);
  });
}
Err drop_guard(DeviceGuard* guard) {
  return caught([&] {
    if (!guard) return;
    const int before = guard->before;
    delete guard;
    if (cuda::current_device() != before) cuda::set_device(before);
  });
}

// A function of a CUDA library that the extension has brought along, or of one that can be opened by name.
void* library_function(std::initializer_list<const char*> libraries, const char* function) {
  for (int mode : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY})
    for (const char* name : libraries)
      if (void* library = dlopen(name, mode))
        if (void* f = dlsym(library, function)) return f;
  return nullptr;
}

struct Runtime {  // of libcudart, if the process has it: no other can tell its errors
  const char* (*error_string)(int) = nullptr;
  int (*last_error)() = nullptr;
};
const Runtime& runtime() {
  static const Runtime r = [] {
    Runtime found;
    for (const char* name : {"libcudart.so.13", "libcudart.so.12"})
      if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {
        found.error_string = reinterpret_cast<const char* (*)(int)>(dlsym(library, "cudaGetErrorString"));
        found.last_error = reinterpret_cast<int (*)()>(dlsym(library, "cudaGetLastError"));
        break;
      }
    return found;
  }();
  return r;
}

// One cuBLAS handle a thread and device, as cuBLAS asks for; on the current stream whenever it is handed out.
void* blas_handle() {
  cuda::require("torch_get_current_cuda_blas_handle");
  using Create = int (*)(void**);
  using SetStream = int (*)(void*, void*);
  static const auto create =
      reinterpret_cast<Create>(library_function({"libcublas.so.13", "libcublas.so.12"}, "cublasCreate_v2"));
  static const auto set =
      reinterpret_cast<SetStream>(library_function({"libcublas.so.13", "libcublas.so.12"}, "cublasSetStream_v2"));
  CHECK(Kind::Runtime, create && set, "cuBLAS was not found: pip install nvidia-cublas");
  static thread_local auto* handles = new std::unordered_map<int, void*>;
  cuda::ensure_context();
  const int device = cuda::current_device();
  void*& handle = (*handles)[device];
  if (!handle) {
    const int status = create(&handle);
    CHECK(Kind::Runtime, status == 0, "cublasCreate failed with status ", status);
  }
  const int status = set(handle, current_stream(device));
  CHECK(Kind::Runtime, status == 0, "cublasSetStream failed with status ", status);
  return handle;
}

struct RawMemory {
  std::mutex lock;
  std::unordered_map<void*, Ref<Storage>> blocks;
};
RawMemory& raw_memory() {
  static auto* m = new RawMemory;
  return *m;
}

}  // namespace

SHIM_EXPORT Err aoti_torch_create_device_guard(int32_t index, DeviceGuard** result) {
  return make_guard(index, result);
}
SHIM_EXPORT Err aoti_torch_delete_device_guard(DeviceGuard* guard) { return drop_guard(guard); }
SHIM_EXPORT Err aoti_torch_device_guard_set_index(DeviceGuard*, int32_t index) {
  return caught([&] { cuda::set_device(index); });
}
SHIM_EXPORT Err aoti_torch_create_cuda_guard(int32_t index, DeviceGuard** result) { return make_guard(index, result); }
SHIM_EXPORT Err aoti_torch_delete_cuda_guard(DeviceGuard* guard) { return drop_guard(guard); }
SHIM_EXPORT Err aoti_torch_cuda_guard_set_index(DeviceGuard*, int32_t index) {
  return caught([&] { cuda::set_device(index); });
}

SHIM_EXPORT Err aoti_torch_get_current_device_index(int32_t* result) {
  return caught([&] {
    cuda::require("aoti_torch_get_current_device_index");
    *result = cuda::current_device();
  });
}

SHIM_EXPORT Err aoti_torch_get_current_cuda_stream(int32_t device, void** result) {
  return caught([&] {
    cuda::require("aoti_torch_get_current_cuda_stream");
    *result = current_stream(device);
  });
}
SHIM_EXPORT Err torch_set_current_cuda_stream(void* stream, int32_t device) {
  return caught([&] { set_stream(stream, device); });
}
SHIM_EXPORT Err torch_get_cuda_stream_from_pool(bool high_priority, int32_t device, void** result) {
  return caught([&] {
    cuda::require("torch_get_cuda_stream_from_pool");
    CHECK(Kind::Runtime, host().pool_stream, "torch_get_cuda_stream_from_pool: the interpreter is not there");
    *result = host().pool_stream(high_priority, device);
  });
}
SHIM_EXPORT Err torch_cuda_stream_synchronize(void* stream, int32_t index) {
  return caught([&] {
    cuda::require("torch_cuda_stream_synchronize");
    cuda::before_outside();
    cuda::synchronize_stream(device_or_current(index), static_cast<cuda::CUstream>(stream));
  });
}
SHIM_EXPORT Err aoti_torch_create_cuda_stream_guard(void* stream, int32_t index, StreamGuard** result) {
  return caught([&] {
    cuda::require("stream guard");
    const int device = device_or_current(index), before = cuda::current_device();
    auto* guard = new StreamGuard{before, device, current_stream(device)};
    *result = guard;
    if (device != before) cuda::set_device(device);
    set_stream(stream, device);
  });
}
SHIM_EXPORT Err aoti_torch_delete_cuda_stream_guard(StreamGuard* guard) {
  return caught([&] {
    if (!guard) return;
    const StreamGuard g = *guard;
    delete guard;
    set_stream(g.stream_before, g.device);
    if (cuda::current_device() != g.device_before) cuda::set_device(g.device_before);
  });
}

SHIM_EXPORT Err aoti_torch_get_current_stream(int32_t device, Stream** result) {
  return caught([&] {
    cuda::require("aoti_torch_get_current_stream");
    const int index = device_or_current(device);
    *result = new Stream{current_stream(index), index};
  });
}
SHIM_EXPORT Err aoti_torch_delete_stream(Stream* stream) {
  delete stream;
  return 0;
}
SHIM_EXPORT Err aoti_torch_stream_id(Stream* stream, int64_t* result) {
  *result = reinterpret_cast<int64_t>(stream->native);
  return 0;
}
SHIM_EXPORT Err torch_stream_native_handle(Stream* stream, void** result) {
  *result = stream->native;
  return 0;
}

SHIM_EXPORT Err torch_get_current_cuda_blas_handle(void** result) {
  return caught([&] { *result = blas_handle(); });
}

// The caller looks at the message only: null means that all is well.
SHIM_EXPORT Err torch_c10_cuda_check_msg(
    int32_t error, const char* file, const char* function, uint32_t line, bool, char** message) {
  *message = nullptr;
  if (error == 0) return 0;
  const Runtime& r = runtime();
  const char* text = r.error_string ? r.error_string(error) : nullptr;
  if (!text && cuda::driver().error_string) cuda::driver().error_string(error, &text);
  if (r.last_error) r.last_error();  // read, so that the next call does not see it again
  std::string whole = str("CUDA error: ", text ? text : "unknown", " (error ", error, " in ", function ? function : "?",
      " at ", file ? file : "?", ":", line, ")");
  if (cuda::breaks_context(error)) try {
      cuda::raise_failure(error, function ? function : "?");
    } catch (const Error& e) { whole = e.what(); }
  *message = strdup(whole.c_str());
  set_last_error(whole);
  return 1;
}
SHIM_EXPORT void torch_c10_cuda_free_error_msg(char* message) { std::free(message); }

SHIM_EXPORT Err aoti_torch_cuda_caching_allocator_raw_alloc(uint64_t bytes, void** result) {
  return caught([&] {
    Ref<Storage> block;
    with_gil([&] { block = allocate(bytes, Device{DeviceType::cuda, -1}); });
    *result = block->data();
    std::lock_guard lock(raw_memory().lock);
    raw_memory().blocks[block->data()] = block;
  });
}
SHIM_EXPORT Err aoti_torch_cuda_caching_allocator_raw_delete(void* p) {
  return caught([&] {
    Ref<Storage> block;
    std::lock_guard lock(raw_memory().lock);
    auto it = raw_memory().blocks.find(p);
    CHECK(Kind::Runtime, it != raw_memory().blocks.end(), "this memory was not allocated here");
    block = std::exchange(it->second, {});
    raw_memory().blocks.erase(it);
  });
}
