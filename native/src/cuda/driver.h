#pragma once
// The CUDA driver, loaded with dlopen at first use: the project builds and runs with no CUDA toolkit and no GPU.
// Declarations are our own; values are those of the driver's stable ABI.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/device.h"
#include "core/storage.h"
#include "core/tensor.h"

namespace shim::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUkernel = struct CUkern_st*;
using CUgraphNode = struct CUgraphNode_st*;

constexpr CUresult kNotReady = 600, kOutOfMemory = 2, kNoDevice = 100;

struct Uuid {
  char bytes[16];
};

// Kernels and their launches, as graphs show and cuLaunchKernelEx takes them: cuda.h's layouts.
struct KernelNode {
  CUfunction function;  // null: it is `kernel`
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
  void** extra;  // of packed parameters
  CUkernel kernel;
  CUcontext context;
};
struct MemsetNode {
  CUdeviceptr to;
  size_t pitch;
  unsigned value, element_size;
  size_t width, height;
};
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};
struct LaunchAttribute {
  int id;
  int padding;
  alignas(8) unsigned char value[64];
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  CUstream stream;
  LaunchAttribute* attributes;
  unsigned count;
};
struct MemoryAccess {  // who may read and write a pool's memory
  int location_type;   // 1: a device
  int device, flags;   // 3: reads and writes
};
struct SharedAllocation {  // physical memory that other processes can map: CUmemAllocationProp
  int type = 1;            // pinned to its device
  int handles = 1;         // passed on as file descriptors
  int location_type = 1, device = 0;
  void* security = nullptr;
  unsigned char flags[8] = {};
};
static_assert(sizeof(SharedAllocation) == 32);
struct BatchedNumber {  // of memory that a stream waits for, or writes: CUstreamBatchMemOpParams
  unsigned act;         // 1: wait for 32 bits, 2: write them
  CUdeviceptr at;
  uint64_t value;
  unsigned flags = 0;
  uint64_t more[2] = {};
};
static_assert(sizeof(BatchedNumber) == 48);
static_assert(
    sizeof(KernelNode) == 72 && sizeof(EdgeData) == 8 && sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

// X(member, symbol, argument types): every driver function used. A symbol that is missing leaves a null member.
#define SHIM_CUDA_DRIVER(X)                                                                                            \
  X(init, cuInit, (unsigned))                                                                                          \
  X(driver_version, cuDriverGetVersion, (int*))                                                                        \
  X(device_count, cuDeviceGetCount, (int*))                                                                            \
  X(device_get, cuDeviceGet, (CUdevice*, int))                                                                         \
  X(device_name, cuDeviceGetName, (char*, int, CUdevice))                                                              \
  X(device_total_memory, cuDeviceTotalMem_v2, (size_t*, CUdevice))                                                     \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, CUdevice))                                                     \
  X(device_uuid, cuDeviceGetUuid_v2, (Uuid*, CUdevice))                                                                \
  X(can_access_peer, cuDeviceCanAccessPeer, (int*, CUdevice, CUdevice))                                                \
  X(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext*, CUdevice))                                                  \
  X(ctx_set, cuCtxSetCurrent, (CUcontext))                                                                             \
  X(ctx_get, cuCtxGetCurrent, (CUcontext*))                                                                            \
  X(ctx_device, cuCtxGetDevice, (CUdevice*))                                                                           \
  X(ctx_synchronize, cuCtxSynchronize, ())                                                                             \
  X(enable_peer, cuCtxEnablePeerAccess, (CUcontext, unsigned))                                                         \
  X(error_name, cuGetErrorName, (CUresult, const char**))                                                              \
  X(error_string, cuGetErrorString, (CUresult, const char**))                                                          \
  X(mem_info, cuMemGetInfo_v2, (size_t*, size_t*))                                                                     \
  X(mem_alloc_async, cuMemAllocAsync, (CUdeviceptr*, size_t, CUstream))                                                \
  X(mem_free_async, cuMemFreeAsync, (CUdeviceptr, CUstream))                                                           \
  X(mem_alloc, cuMemAlloc_v2, (CUdeviceptr*, size_t))                                                                  \
  X(mem_free, cuMemFree_v2, (CUdeviceptr))                                                                             \
  X(host_alloc, cuMemHostAlloc, (void**, size_t, unsigned))                                                            \
  X(host_free, cuMemFreeHost, (void*))                                                                                 \
  X(pool_default, cuDeviceGetDefaultMemPool, (CUmemoryPool*, CUdevice))                                                \
  X(pool_current, cuDeviceGetMemPool, (CUmemoryPool*, CUdevice))                                                       \
  X(pool_set, cuMemPoolSetAttribute, (CUmemoryPool, int, void*))                                                       \
  X(pool_get, cuMemPoolGetAttribute, (CUmemoryPool, int, void*))                                                       \
  X(pool_trim, cuMemPoolTrimTo, (CUmemoryPool, size_t))                                                                \
  X(pool_access, cuMemPoolSetAccess, (CUmemoryPool, const MemoryAccess*, size_t))                                      \
  X(shared_granularity, cuMemGetAllocationGranularity, (size_t*, const SharedAllocation*, int))                        \
  X(shared_create, cuMemCreate, (unsigned long long*, size_t, const SharedAllocation*, unsigned long long))            \
  X(shared_release, cuMemRelease, (unsigned long long))                                                                \
  X(shared_export, cuMemExportToShareableHandle, (void*, unsigned long long, int, unsigned long long))                 \
  X(shared_import, cuMemImportFromShareableHandle, (unsigned long long*, void*, int))                                  \
  X(address_reserve, cuMemAddressReserve, (CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long))             \
  X(address_free, cuMemAddressFree, (CUdeviceptr, size_t))                                                             \
  X(shared_map, cuMemMap, (CUdeviceptr, size_t, size_t, unsigned long long, unsigned long long))                       \
  X(shared_unmap, cuMemUnmap, (CUdeviceptr, size_t))                                                                   \
  X(shared_access, cuMemSetAccess, (CUdeviceptr, size_t, const MemoryAccess*, size_t))                                 \
  X(stream_write_value, cuStreamWriteValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned))                          \
  X(stream_wait_value, cuStreamWaitValue32_v2, (CUstream, CUdeviceptr, uint32_t, unsigned))                            \
  X(stream_numbers, cuStreamBatchMemOp_v2, (CUstream, unsigned, BatchedNumber*, unsigned))                             \
  X(memcpy_async, cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                         \
  X(memcpy_peer_async, cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))          \
  X(memset_async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                                     \
  X(memset16_async, cuMemsetD16Async, (CUdeviceptr, unsigned short, size_t, CUstream))                                 \
  X(memset32_async, cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))                                       \
  X(pointer_attribute, cuPointerGetAttribute, (void*, int, CUdeviceptr))                                               \
  X(stream_create, cuStreamCreateWithPriority, (CUstream*, unsigned, int))                                             \
  X(stream_destroy, cuStreamDestroy_v2, (CUstream))                                                                    \
  X(stream_priorities, cuCtxGetStreamPriorityRange, (int*, int*))                                                      \
  X(stream_synchronize, cuStreamSynchronize, (CUstream))                                                               \
  X(stream_query, cuStreamQuery, (CUstream))                                                                           \
  X(stream_wait_event, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                               \
  X(stream_capturing, cuStreamIsCapturing, (CUstream, int*))                                                           \
  X(stream_id, cuStreamGetId, (CUstream, unsigned long long*))                                                         \
  X(capture_mode, cuThreadExchangeStreamCaptureMode, (int*))                                                           \
  X(capture_begin, cuStreamBeginCapture_v2, (CUstream, int))                                                           \
  X(capture_end, cuStreamEndCapture, (CUstream, CUgraph*))                                                             \
  X(graph_instantiate, cuGraphInstantiateWithFlags, (CUgraphExec*, CUgraph, unsigned long long))                       \
  X(graph_launch, cuGraphLaunch, (CUgraphExec, CUstream))                                                              \
  X(graph_destroy, cuGraphDestroy, (CUgraph))                                                                          \
  X(graph_nodes, cuGraphGetNodes, (CUgraph, CUgraphNode*, size_t*))                                                    \
  X(graph_edges, cuGraphGetEdges_v2, (CUgraph, CUgraphNode*, CUgraphNode*, EdgeData*, size_t*))                        \
  X(node_type, cuGraphNodeGetType, (CUgraphNode, int*))                                                                \
  X(kernel_node, cuGraphKernelNodeGetParams_v2, (CUgraphNode, KernelNode*))                                            \
  X(memset_node, cuGraphMemsetNodeGetParams, (CUgraphNode, MemsetNode*))                                               \
  X(kernel_node_attribute, cuGraphKernelNodeGetAttribute, (CUgraphNode, int, void*))                                   \
  X(function_parameter, cuFuncGetParamInfo, (CUfunction, size_t, size_t*, size_t*))                                    \
  X(kernel_parameter, cuKernelGetParamInfo, (CUkernel, size_t, size_t*, size_t*))                                      \
  X(graph_exec_destroy, cuGraphExecDestroy, (CUgraphExec))                                                             \
  X(event_create, cuEventCreate, (CUevent*, unsigned))                                                                 \
  X(event_record, cuEventRecord, (CUevent, CUstream))                                                                  \
  X(event_query, cuEventQuery, (CUevent))                                                                              \
  X(event_synchronize, cuEventSynchronize, (CUevent))                                                                  \
  X(event_elapsed, cuEventElapsedTime, (float*, CUevent, CUevent))                                                     \
  X(event_destroy, cuEventDestroy_v2, (CUevent))                                                                       \
  X(module_load, cuModuleLoadData, (CUmodule*, const void*))                                                           \
  X(module_function, cuModuleGetFunction, (CUfunction*, CUmodule, const char*))                                        \
  X(function_attribute, cuFuncSetAttribute, (CUfunction, int, int))                                                    \
  X(launch, cuLaunchKernel,                                                                                            \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**))    \
  X(encode_tensor_map, cuTensorMapEncodeTiled,                                                                         \
      (void*, int, unsigned, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, \
          int))                                                                                                        \
  X(launch_ex, cuLaunchKernelEx, (const LaunchConfig*, CUfunction, void**, void**))

struct Driver {
#define SHIM_MEMBER(member, symbol, types) CUresult(*member) types = nullptr;
  SHIM_CUDA_DRIVER(SHIM_MEMBER)
#undef SHIM_MEMBER
  bool loaded = false;  // the library is there and cuInit succeeded
  int devices = 0;
  std::string why;  // why it is not loaded
};

const Driver& load_driver();  // never throws
inline constinit std::atomic<const Driver*> driver_in_use{nullptr};
inline const Driver& driver() {  // loads on the first call; never throws
  const Driver* d = driver_in_use.load(std::memory_order_acquire);
  return d ? *d : load_driver();
}
const Driver& require(const char* function);  // throws PyTorch's "no NVIDIA driver" / "no CUDA-capable device" error
void check(CUresult, const char* what);       // torch.AcceleratorError "CUDA error: ..." (device_failure.h)
std::string describe(CUresult, const char* what);

int device_count();
constexpr int kMostDevices = 64;       // of those that are used
inline bool several_devices = false;   // known once the driver is loaded
int current_device();                  // of this thread; 0 until something else is set
void set_device(int index);            // makes the primary context of the device current
void ensure_context();                 // before any call that needs a context on this thread
CUcontext primary_context(int index);  // retains it at the first call
inline constinit std::atomic<CUcontext> contexts_in_use[kMostDevices] = {};  // that were asked for
inline CUcontext retained_context(int index) {                               // null: not retained yet
  return unsigned(index) < unsigned(kMostDevices) ? contexts_in_use[index].load(std::memory_order_acquire) : nullptr;
}
// The context of the device is current within, whatever was before; what a device runs, and the handles that belong to it, are made and
// used so. A stream that is null is the default one of the current device. Costs one question to the driver where nothing is to be changed.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    CUcontext now = nullptr;
    driver().ctx_get(&now);
    if (!now || now != retained_context(device)) enter(device, now);
  }
  ~OnDevice() {
    if (before_) leave();
  }
  OnDevice(const OnDevice&) = delete;

 private:
  void enter(int device, CUcontext now);
  void leave() noexcept;        // where the device failed the driver may refuse, and the failure is what counts
  CUcontext before_ = nullptr;  // to be made current again
};

// The one source of the current stream: CuPy's thread-local one once CuPy is loaded, else this library's own.
CUstream current_stream(int device);
void set_current_stream(int device, CUstream);  // ours, for when CuPy has none of its own
void use_cupy_stream_getter(intptr_t (*get_stream)(int));

// Work that is deferred (trace/) runs before anybody outside asks for, or changes, the order of what devices do and the memory they have:
// streams, events, graphs, pools. Whoever serves such a request calls this first. It may throw what a deferred operator throws.
inline std::atomic<void (*)()> run_waiting{nullptr};
inline void before_outside() {
  if (auto* run = run_waiting.load(std::memory_order_relaxed)) run();
}

bool capturing(CUstream);
bool capturing_now();                      // what the current stream of the current device gets
inline std::atomic<uint64_t> settings{0};  // changes with the switches that decide how libraries compute
// Before a switch of a library is set: what is deferred computes as it was.
inline void before_setting() {
  before_outside();
  ++settings;
}
// Asynchronous, between memory of the host and of the device, whose stream it is.
void copy_bytes(void* to, const void* from, size_t bytes, int device, CUstream);
// `later`, a stream of a device, waits for what `first`, a stream of another or the same, holds now.
void order_streams(CUstream first, int device, CUstream later, int later_device);
// From one GPU to another, after what both current streams hold and before what they get next.
void copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes);
void synchronize_stream(int device, CUstream);  // waits, with the interpreter's lock as it is
// Sets `count` elements of 1, 2 or 4 bytes, all the same, asynchronously.
void fill_bytes(void* to, const void* element, int itemsize, size_t count, int device, CUstream);

// Memory of the stream-ordered pool, kept in blocks of our own (block_cache.h).
struct MemoryStats {
  uint64_t used, reserved, used_high, reserved_high;
};
MemoryStats memory_stats(int device);
void install_allocator();
bool record_stream(const Storage&, const void* data, CUstream, int device);  // false: not this allocator's memory
// Memory by its address, for CuPy: null where there is none left.
void* allocate_named(void*, size_t bytes, int device);
void free_named(void*, void* data, int device);

// Memory of the graphs under capture on this thread: it is reused within the captures that share it, and by nobody else.
struct BlockPool;
BlockPool* begin_graph_pool(int device, BlockPool* shared);  // shared: of graphs before, or null
void end_graph_pool(BlockPool*);                             // no further allocations; memory stays until release
void release_graph_pool(BlockPool*);                         // one graph fewer

}  // namespace shim::cuda
