#include "distributed/opened_memory.h"

#include <unistd.h>

#include <algorithm>

#include "distributed/descriptors.h"

namespace shim::distributed {
namespace {

constexpr int kFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

constexpr Milliseconds kMeeting{60000};  // of ranks that are all there

bool offered(const cuda::Driver& d) {
  return d.shared_create && d.shared_export && d.shared_import && d.address_reserve && d.shared_map &&
         d.shared_access && d.shared_granularity;
}

// Whether this device reaches all others that this process sees: the ranks' devices are among them, or their memory cannot be mapped.
bool reaches_others(int device) {
  const cuda::Driver& d = cuda::driver();
  for (int other = 0; other < d.devices; ++other) {
    int yes = other == device;
    if (!yes && (!d.can_access_peer || d.can_access_peer(&yes, device, other) != 0)) return false;
    if (!yes) return false;
  }
  return true;
}

}  // namespace

void OpenedMemory::allocate(int rank, size_t bytes) {
  const cuda::Driver& d = cuda::driver();
  const cuda::SharedAllocation how{.device = device_};
  size_t unit = 0;
  cuda::check(d.shared_granularity(&unit, &how, 0), "cuMemGetAllocationGranularity");
  bytes_ = (bytes + unit - 1) / unit * unit;
  Block& own = blocks_[size_t(rank)];
  cuda::check(d.shared_create(&own.handle, bytes_, &how, 0), "cuMemCreate");
  CHECK(Kind::Runtime, map(own), "cuMemMap refused its own memory");
  cuda::CUstream stream = nullptr;  // of its own: what others hold may wait for other ranks
  cuda::check(d.stream_create(&stream, 1 /* not ordered by the default stream */, 0), "cuStreamCreate");
  cuda::check(d.memset_async(own.at, 0, bytes_, stream), "cuMemsetD8Async");
  cuda::check(d.stream_synchronize(stream), "cuStreamSynchronize");
  d.stream_destroy(stream);
}

bool OpenedMemory::map(Block& b) {
  const cuda::Driver& d = cuda::driver();
  const cuda::MemoryAccess access{.location_type = 1, .device = device_, .flags = 3};
  if (d.address_reserve(&b.at, bytes_, 0, 0, 0) != 0) return false;
  if (d.shared_map(b.at, bytes_, 0, b.handle, 0) != 0) {
    if (d.address_free) d.address_free(b.at, bytes_);
    b.at = 0;
    return false;
  }
  return d.shared_access(b.at, bytes_, &access, 1) == 0;
}

std::unique_ptr<OpenedMemory> OpenedMemory::make(Store& store, const std::string& prefix, int rank, int size,
    int device, size_t bytes, bool able, Milliseconds timeout, const std::function<bool(OpenedMemory&, int)>& tried) {
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device);
  std::unique_ptr<OpenedMemory> made(new OpenedMemory(size, device));
  int own = -1;
  bool fine = on_one_host(store, prefix + "host", rank, timeout) && able && offered(d) && reaches_others(device);
  if (fine) {
    try {
      made->allocate(rank, bytes);
      fine = d.shared_export(&own, made->blocks_[size_t(rank)].handle, kFileDescriptor, 0) == 0;
    } catch (const Error&) {
      fine = false;  // no memory is left, or a virtual machine forbids it
    }
  }
  std::vector<int> theirs;
  if (all_agree(store, prefix + "able", size, fine, timeout)) {
    try {
      theirs = exchange_descriptors(store, prefix + "names", rank, size, own, std::min(timeout, kMeeting));
    } catch (const Failure&) {
      fine = false;  // in containers without a way between them
    }
    for (int other = 0; fine && other < size; ++other) {
      if (other == rank) continue;
      Block& b = made->blocks_[size_t(other)];
      auto* descriptor = reinterpret_cast<void*>(intptr_t(theirs[size_t(other)]));
      fine = d.shared_import(&b.handle, descriptor, kFileDescriptor) == 0 && made->map(b) && tried(*made, other);
    }
    fine = all_agree(store, prefix + "mapped", size, fine, timeout);
  } else {
    fine = false;
  }
  for (int fd : theirs)
    if (fd >= 0) close(fd);
  if (own >= 0) close(own);
  return fine ? std::move(made) : nullptr;
}

OpenedMemory::~OpenedMemory() {
  const cuda::Driver& d = cuda::driver();
  for (Block& b : blocks_) {
    if (b.at && d.shared_unmap && d.shared_unmap(b.at, bytes_) == 0 && d.address_free) d.address_free(b.at, bytes_);
    if (b.handle && d.shared_release) d.shared_release(b.handle);
  }
}

}  // namespace shim::distributed
