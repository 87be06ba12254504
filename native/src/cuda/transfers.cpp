// Copies of bytes, the order of streams, and what devices may do with each other's memory.
#include <array>
#include <atomic>

#include "cuda/block_cache.h"

namespace shim::cuda {
namespace {

// Lets `device` work on the memory of `owner`, on which copies then go straight from GPU to GPU. Where the hardware does not allow it, or
// the driver is without the functions, the driver carries copies over through memory of the host that it has pinned.
void let_access(int owner, int device) {
  static std::array<std::atomic<uint64_t>, kMostDevices> asked{};
  const uint64_t bit = uint64_t(1) << device;
  if (asked[size_t(owner)].load(std::memory_order_acquire) & bit) return;
  const Driver& d = driver();
  int yes = 0;
  if (d.can_access_peer && d.can_access_peer(&yes, device, owner) == 0 && yes) {
    RelaxedCapture relaxed;
    constexpr unsigned kNoFlags = 0;
    if (d.enable_peer) {  // of what is not from a pool: other libraries' memory
      OnDevice current(device);
      d.enable_peer(primary_context(owner), kNoFlags);  // it may be enabled already
    }
    constexpr int kDevice = 1, kReadWrite = 3;
    const MemoryAccess access{kDevice, device, kReadWrite};
    if (d.pool_access) d.pool_access(driver_pool(owner), &access, 1);
  }
  asked[size_t(owner)].fetch_or(bit, std::memory_order_release);
}

}  // namespace

void copy_bytes(void* to, const void* from, size_t bytes, int device, CUstream stream) {
  if (!bytes) return;
  OnDevice current(device);
  check(driver().memcpy_async(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, stream),
      "cuMemcpyAsync");
}

void synchronize_stream(int device, CUstream stream) {
  OnDevice current(device);
  check(driver().stream_synchronize(stream), "cuStreamSynchronize");
}

void order_streams(CUstream first, int device, CUstream later, int later_device) {
  if (first == later && device == later_device) return;
  const Driver& d = driver();
  CUevent event = nullptr;
  CUresult r = 0;
  {
    OnDevice current(device);
    check(d.event_create(&event, 2 /* no timing */), "cuEventCreate");
    r = d.event_record(event, first);
  }
  if (r == 0) {
    OnDevice current(later_device);
    r = d.stream_wait_event(later, event, 0);
  }
  d.event_destroy(event);  // the driver keeps it until it is reached
  check(r, "cuStreamWaitEvent");
}

void copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  if (!bytes) return;
  let_access(from_device, to_device);
  let_access(to_device, from_device);
  const CUstream reader = current_stream(from_device), writer = current_stream(to_device);
  order_streams(writer, to_device, reader, from_device);
  {
    OnDevice current(from_device);  // on the source's stream: its memory is reused in that order
    check(driver().memcpy_peer_async(reinterpret_cast<CUdeviceptr>(to), primary_context(to_device),
              reinterpret_cast<CUdeviceptr>(from), primary_context(from_device), bytes, reader),
        "cuMemcpyPeerAsync");
  }
  order_streams(reader, from_device, writer, to_device);
}

}  // namespace shim::cuda
