// Giving blocks back to the driver, and the pools of graphs.
#include <algorithm>

#include "cuda/block_cache.h"

namespace shim::cuda {

// Every segment of the pool that is one free block. All work on the device is done.
size_t BlockCache::release(BlockPool& pool) {
  size_t bytes = 0;
  for (auto& [id, arena] : pool.arenas)
    for (auto& blocks : arena.free)
      for (auto it = blocks.begin(); it != blocks.end();) {
        Block* b = *it;
        if (b->before || b->after) {
          ++it;
          continue;
        }
        it = blocks.erase(it);
        driver().mem_free_async(b->data, upstream_);
        segments_.erase(b->data);
        ++statistics_.device_frees;
        count(kSegment, b->kind, -1);
        count(kReservedBytes, b->kind, -int64_t(b->size));
        bytes += b->size;
        delete b;
      }
  return bytes;
}

size_t BlockCache::release_all() {
  if (captures_ || !upstream_) return 0;  // nothing can be waited for during a capture
  const Driver& d = driver();
  OnDevice current(device_);
  RelaxedCapture relaxed;
  if (d.ctx_synchronize() != 0) return 0;
  ++statistics_.synchronizations;
  poll();
  size_t bytes = release(main_);
  for (BlockPool* pool : dropped_) {
    bytes += release(*pool);
    delete pool;
  }
  dropped_.clear();
  d.stream_synchronize(upstream_);
  d.pool_trim(driver_pool(device_), 0);
  return bytes;
}

void BlockCache::empty() {
  std::lock_guard<std::mutex> guard(lock_);
  release_all();
}

// --- graphs -----------------------------------------------------------------------------------------------------------------

void BlockCache::end_capture() {
  std::lock_guard<std::mutex> guard(lock_);
  --captures_;
}

// What no graph replays on and no tensor holds is given back when the device is next waited for.
void BlockCache::retire(BlockPool* pool) {
  if (std::find(dropped_.begin(), dropped_.end(), pool) == dropped_.end()) dropped_.push_back(pool);
}

void BlockCache::drop(BlockPool* pool) {
  std::lock_guard<std::mutex> guard(lock_);
  if (--pool->graphs > 0 || pool->live) return;
  retire(pool);
  release_all();
}

}  // namespace shim::cuda
