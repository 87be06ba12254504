// What torch.cuda.memory_stats and memory_snapshot say of the cache.
#include "cuda/block_cache.h"

namespace shim::cuda {

Statistics BlockCache::statistics() {
  std::lock_guard<std::mutex> guard(lock_);
  return statistics_;
}

void BlockCache::track(size_t bytes, bool allocated) {
  std::lock_guard<std::mutex> guard(lock_);
  const int64_t n = allocated ? int64_t(bytes) : -int64_t(bytes), one = allocated ? 1 : -1;
  for (Figure f : {kAllocation, kActive, kSegment}) count(f, bytes > kSmallRequest, one);
  for (Figure f : {kAllocatedBytes, kActiveBytes, kReservedBytes, kRequestedBytes}) count(f, bytes > kSmallRequest, n);
}

void BlockCache::reset(bool peaks, bool totals) {
  std::lock_guard<std::mutex> guard(lock_);
  for (auto& figure : statistics_.counts)
    for (Count& c : figure) {
      if (peaks) c.peak = c.current;
      if (totals) c.allocated = c.freed = 0;
    }
  if (totals)
    statistics_.retries = statistics_.out_of_memory = statistics_.synchronizations = statistics_.device_allocations =
        statistics_.device_frees = 0;
}

std::vector<BlockCache::Segment> BlockCache::snapshot() {
  std::lock_guard<std::mutex> guard(lock_);
  std::vector<Segment> all;
  for (auto& [data, first] : segments_) {
    Segment s{data, 0, first->home->stream, first->kind == 1, first->home->pool->of_graphs, {}};
    for (const Block* b = first; b; b = b->after) {
      s.size += b->size;
      s.pieces.push_back({b->data, b->size, b->used ? b->requested : 0, b->used ? 1 : idle(*b) ? 0 : 2});
    }
    all.push_back(std::move(s));
  }
  return all;
}

}  // namespace shim::cuda
