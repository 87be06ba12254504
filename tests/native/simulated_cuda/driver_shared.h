// Memory of the simulated driver that other processes map, and streams that wait for numbers in it: files without names. As everything
// happens at once there, a stream that waits stops its process.
#pragma once
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "driver_contexts.h"
#include "driver_graphs.h"

extern "C" {

struct Allocation {
  int type, handles, location_type, device;
};
int cuMemGetAllocationGranularity(size_t* n, const Allocation*, int) {
  *n = size_t(2) << 20;
  return 0;
}
int cuMemCreate(unsigned long long* handle, size_t n, const Allocation* how, unsigned long long) {
  if (how->type != 1 || how->handles != 1 || how->location_type != 1) return kInvalidValue;
  const int fd = memfd_create("simulated", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(n)) != 0) return 2;
  *handle = unsigned(fd);
  return 0;
}
int cuMemRelease(unsigned long long handle) { return close(int(handle)) == 0 ? 0 : kInvalidValue; }
int cuMemExportToShareableHandle(int* fd, unsigned long long handle, int kind, unsigned long long) {
  *fd = dup(int(handle));
  return kind == 1 && *fd >= 0 ? 0 : kInvalidValue;
}
int cuMemImportFromShareableHandle(unsigned long long* handle, void* fd, int kind) {
  const int copy = dup(int(reinterpret_cast<intptr_t>(fd)));
  *handle = unsigned(copy);
  return kind == 1 && copy >= 0 ? 0 : kInvalidValue;
}
int cuMemAddressReserve(unsigned long long* at, size_t n, size_t, unsigned long long, unsigned long long) {
  void* p = mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *at = reinterpret_cast<uintptr_t>(p);
  return p == MAP_FAILED ? 2 : 0;
}
int cuMemAddressFree(unsigned long long at, size_t n) { return munmap(reinterpret_cast<void*>(at), n) == 0 ? 0 : 1; }
int cuMemMap(unsigned long long at, size_t n, size_t, unsigned long long handle, unsigned long long) {
  void* p = mmap(reinterpret_cast<void*>(at), n, PROT_NONE, MAP_SHARED | MAP_FIXED, int(handle), 0);
  return p == MAP_FAILED ? kInvalidValue : 0;
}
int cuMemUnmap(unsigned long long at, size_t n) {
  void* p = mmap(reinterpret_cast<void*>(at), n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return p == MAP_FAILED ? kInvalidValue : 0;
}
int cuMemSetAccess(unsigned long long at, size_t n, const Access* access, size_t count) {
  if (count != 1 || access->type != 1 || access->flags != 3) return kInvalidValue;
  return mprotect(reinterpret_cast<void*>(at), n, PROT_READ | PROT_WRITE) == 0 ? 0 : kInvalidValue;
}
int cuStreamWriteValue32_v2(void* stream, unsigned long long at, uint32_t value, unsigned flags) {
  if (failure_on(stream)) return failure_on(stream);
  if (flags || recorded(stream)) return kInvalidValue;
  note("write", stream);
  reinterpret_cast<std::atomic<uint32_t>*>(at)->store(value, std::memory_order_release);
  return 0;
}
int cuStreamWaitValue32_v2(void* stream, unsigned long long at, uint32_t value, unsigned flags) {
  if (failure_on(stream)) return failure_on(stream);
  if (flags || recorded(stream)) return kInvalidValue;
  note("await", stream);
  auto* number = reinterpret_cast<std::atomic<uint32_t>*>(at);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (int32_t(number->load(std::memory_order_acquire) - value) < 0) {
    if (std::chrono::steady_clock::now() > until) return 719;
    sched_yield();
  }
  return 0;
}
// Waits and writes of one stream, in their order.
struct Number {
  unsigned act;
  unsigned long long at, value;
  unsigned flags;
  unsigned long long more[2];
};
int cuStreamBatchMemOp_v2(void* stream, unsigned count, const Number* all, unsigned flags) {
  if (flags || !count || count > 256) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    const Number& n = all[i];
    if (n.act != 1 && n.act != 2) return kInvalidValue;
    const int r =
        (n.act == 1 ? cuStreamWaitValue32_v2 : cuStreamWriteValue32_v2)(stream, n.at, uint32_t(n.value), n.flags);
    if (r) return r;
  }
  return 0;
}

}  // extern "C"
