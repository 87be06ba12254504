// CUDA memory: the driver's stream-ordered pool behind a cache of blocks, which CuPy is given too, so that both sides share one.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/block_cache.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"
#include "cuda/graph_pools.h"

namespace shim::cuda {
namespace {

constexpr int kReleaseThreshold = 4;

thread_local BlockPool *tls_graph_pool = nullptr, *tls_results_pool = nullptr;

struct Names {  // blocks that are freed by address
  std::mutex lock;
  std::map<uintptr_t, Block*> blocks;
};
Names& names() {
  static auto* n = new Names();
  return *n;
}

// As PyTorch's switch: every tensor's memory straight from the driver, which memory checkers can then watch.
bool caching() {
  static const bool on = [] {
    const char* off = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
    return !off || !*off || std::string_view(off) == "0";
  }();
  return on;
}

std::string human(uint64_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

[[noreturn]] void out_of_memory(int device, size_t bytes) {
  OnDevice current(device);
  size_t free_bytes = 0, total = 0;
  driver().mem_info(&free_bytes, &total);
  MemoryStats s = memory_stats(device);
  fail(Kind::OutOfMemory, "CUDA out of memory. Tried to allocate ", human(bytes), ". GPU ", device,
      " has a total capacity of ", human(total), " of which ", human(free_bytes),
      " is free. Of the memory in the pool, ", human(s.used), " is in use and ", human(s.reserved - s.used),
      " is reserved but unused; torch.cuda.empty_cache() gives that back.");
}

// Allocated and freed in the order of its stream: also as part of a capture that is not ours.
Block* uncached(size_t bytes, int device, CUstream stream) {
  const Driver& d = driver();
  OnDevice current(device);
  driver_pool(device);
  auto* b = new Block();
  b->size = (bytes + 511) / 512 * 512;
  b->device = device;
  b->stream = stream;
  CUresult r = d.mem_alloc_async(&b->data, b->size, stream);
  if (r == kOutOfMemory) {
    block_cache(device).empty();
    d.stream_synchronize(stream);
    d.pool_trim(driver_pool(device), 0);
    r = d.mem_alloc_async(&b->data, b->size, stream);
  }
  if (r != 0) {
    delete b;
    if (r == kOutOfMemory) out_of_memory(device, bytes);
    check(r, "cuMemAllocAsync");
  }
  block_cache(device).track(b->size, true);
  return b;
}

void free_uncached(Block* b) {
  const Driver& d = driver();
  for (const Worker& other : b->others) {
    CUevent event = nullptr;
    OnDevice there(other.device);
    if (d.event_create(&event, 2) != 0) continue;
    if (d.event_record(event, other.stream) == 0) {
      OnDevice home(b->device);
      d.stream_wait_event(b->stream, event, 0);
    }
    d.event_destroy(event);
  }
  {
    OnDevice current(b->device);
    if (d.mem_free_async(b->data, b->stream) != 0) d.mem_free(b->data);  // the stream is gone, or is being captured
  }
  block_cache(b->device).track(b->size, false);
  delete b;
}

Block* get_block(size_t bytes, int device) {
  refuse_broken(device);
  const CUstream stream = current_stream(device);
  BlockPool* pool = tls_graph_pool && tls_graph_pool->device == device ? tls_graph_pool : nullptr;
  if (!pool && (!caching() || (stream && capturing(stream)))) return uncached(bytes, device, stream);
  Block* b = block_cache(device).allocate(bytes, stream, pool);
  if (!b) out_of_memory(device, bytes);
  return b;
}

void free_block(void* context, void*) {
  auto* b = static_cast<Block*>(context);
  b->home ? block_cache(b->device).free(b) : free_uncached(b);
}

Ref<Storage> allocate_cuda(size_t bytes, Device device) {
  const Driver& d = require("torch.empty");
  const int index = device.index < 0 ? current_device() : device.index;
  const Device where{DeviceType::cuda, int8_t(index)};
  if (index >= d.devices) primary_context(index);  // refuses it
  if (!bytes) return Ref<Storage>(new Storage(nullptr, 0, where, nullptr, nullptr));
  Block* b = get_block(bytes, index);
  return Ref<Storage>(new Storage(reinterpret_cast<void*>(b->data), bytes, where, free_block, b));
}

void free_pinned(void*, void* data) {
  if (data) driver().host_free(data);
}

Ref<Storage> allocate_pinned(size_t bytes) {
  const Driver& d = require("pin_memory");
  ensure_context();
  void* p = nullptr;
  if (bytes) check(d.host_alloc(&p, bytes, 1), "cuMemHostAlloc");
  auto storage = Ref<Storage>(new Storage(p, bytes, Device{}, free_pinned, nullptr));
  storage->pinned = true;
  return storage;
}

}  // namespace

CUmemoryPool driver_pool(int device) {
  static std::mutex lock;
  static std::vector<CUmemoryPool> pools;
  std::lock_guard<std::mutex> guard(lock);
  if (pools.size() <= size_t(device)) pools.resize(size_t(device) + 1, nullptr);
  CUmemoryPool& pool = pools[size_t(device)];
  if (!pool) {
    const Driver& d = driver();
    primary_context(device);
    check(d.pool_current(&pool, device), "cuDeviceGetMemPool");
    uint64_t keep = ~uint64_t(0);  // hand nothing back to the system at a synchronisation
    d.pool_set(pool, kReleaseThreshold, &keep);
  }
  return pool;
}

MemoryStats memory_stats(int device) {
  if (!driver().loaded) return {};
  const Statistics s = block_cache(device).statistics();
  const Count &used = s.counts[kAllocatedBytes][0], &reserved = s.counts[kReservedBytes][0];
  return {uint64_t(used.current), uint64_t(reserved.current), uint64_t(used.peak), uint64_t(reserved.peak)};
}

void install_allocator() {
  cuda_allocator().allocate = allocate_cuda;
  cuda_allocator().allocate_pinned = allocate_pinned;
  Storage::copy_device = [](void* to, const void* from, size_t bytes, Device where) {
    const int device = where.index < 0 ? current_device() : where.index;
    copy_bytes(to, from, bytes, device, current_stream(device));
  };
}

bool record_stream(const Storage& storage, const void* data, CUstream stream, int device) {
  if (storage.deleter() == free_block) {
    auto* b = static_cast<Block*>(storage.context());
    block_cache(b->device).record(b, {stream, device});
    return true;
  }
  Names& n = names();
  const auto address = reinterpret_cast<uintptr_t>(data);
  std::lock_guard<std::mutex> guard(n.lock);
  auto after = n.blocks.upper_bound(address);
  if (after == n.blocks.begin()) return false;
  Block* b = std::prev(after)->second;
  if (address >= b->data + b->size) return false;
  block_cache(b->device).record(b, {stream, device});
  return true;
}

void* allocate_named(void*, size_t bytes, int device) {
  try {
    if (!bytes) return nullptr;
    Block* b = get_block(bytes, device);
    Names& n = names();
    std::lock_guard<std::mutex> guard(n.lock);
    n.blocks[b->data] = b;
    return reinterpret_cast<void*>(b->data);
  } catch (...) {
    return nullptr;  // the caller raises; there is no exception across C
  }
}

void free_named(void*, void* data, int) {
  Names& n = names();
  Block* b = nullptr;
  {
    std::lock_guard<std::mutex> guard(n.lock);
    auto found = n.blocks.find(reinterpret_cast<uintptr_t>(data));
    if (found == n.blocks.end()) return;
    b = found->second;
    n.blocks.erase(found);
  }
  free_block(b, data);
}

BlockPool* begin_graph_pool(int device, BlockPool* shared) {
  BlockPool* pool = shared ? shared : new BlockPool();
  pool->device = device;
  pool->of_graphs = true;
  block_cache(device).begin_capture(pool);
  tls_graph_pool = pool;
  return pool;
}

void end_graph_pool(BlockPool* pool) {
  if (tls_graph_pool == pool) tls_graph_pool = nullptr;
  block_cache(pool->device).end_capture();
}

void release_graph_pool(BlockPool* pool) { block_cache(pool->device).drop(pool); }

void set_results_pool(BlockPool* pool) { tls_results_pool = pool; }

AmongResults::AmongResults(bool outlives) {
  if (outlives && tls_results_pool) before_ = std::exchange(tls_graph_pool, tls_results_pool);
}

AmongResults::~AmongResults() {
  if (before_) tls_graph_pool = before_;
}

bool lies_elsewhere(const Storage& s, const BlockPool* pool) {
  if (s.deleter() != free_block) return false;
  const auto* b = static_cast<const Block*>(s.context());
  return !b->home || b->home->pool != pool;
}

}  // namespace shim::cuda
