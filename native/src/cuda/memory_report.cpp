#include "cuda/memory_report.h"

#include "cuda/block_cache.h"

namespace shim::cuda {
namespace {

bool there() { return driver().loaded; }

constexpr const char* kFigureNames[] = {"allocation", "segment", "active", "inactive_split", "allocated_bytes",
    "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"};
constexpr const char* kPools[] = {"all", "small_pool", "large_pool"};
constexpr const char* kStates[] = {"inactive", "active_allocated", "active_pending_free"};

Fact segment_report(int device, const BlockCache::Segment& s) {
  size_t used = 0, active = 0, asked = 0;
  Fact::List blocks;
  for (const auto& p : s.pieces) {
    if (p.state == 1) used += p.size, asked += p.requested;
    if (p.state) active += p.size;
    blocks.push_back(Fact::Named{
        {"address", p.data}, {"size", p.size}, {"requested_size", p.requested}, {"state", kStates[p.state]}});
  }
  return Fact::Named{{"device", device}, {"address", s.data}, {"total_size", s.size}, {"allocated_size", used},
      {"active_size", active}, {"requested_size", asked}, {"stream", reinterpret_cast<uintptr_t>(s.stream)},
      {"segment_type", s.large ? "large" : "small"}, {"is_graph_pool", s.of_graphs}, {"blocks", std::move(blocks)}};
}

}  // namespace

std::tuple<int64_t, int64_t, int64_t, int64_t> memory_figures(int device) {
  const MemoryStats s = memory_stats(device);
  return {s.used, s.reserved, s.used_high, s.reserved_high};
}

Fact memory_statistics(int device) {
  const Statistics s = there() ? block_cache(device).statistics() : Statistics{};
  Fact::Named all = {{"num_alloc_retries", s.retries}, {"num_ooms", s.out_of_memory},
      {"num_sync_all_streams", s.synchronizations}, {"num_device_alloc", s.device_allocations},
      {"num_device_free", s.device_frees}};
  for (size_t f = 0; f < kFigures; ++f)
    for (size_t p = 0; p < 3; ++p) {
      const std::string name = std::string(kFigureNames[f]) + "." + kPools[p] + ".";
      const Count& c = s.counts[f][p];
      all.emplace_back(name + "current", c.current);
      all.emplace_back(name + "peak", c.peak);
      all.emplace_back(name + "allocated", c.allocated);
      all.emplace_back(name + "freed", c.freed);
    }
  return all;
}

Fact memory_snapshot(int device) {
  Fact::List segments;
  if (there())
    for (const auto& s : block_cache(device).snapshot()) segments.push_back(segment_report(device, s));
  return segments;
}

void empty_cache(int device) {
  if (there()) block_cache(device).empty();
}

void reset_statistics(int device, bool peaks, bool totals) {
  if (there()) block_cache(device).reset(peaks, totals);
}

void limit_memory(int device, int64_t bytes) {
  require("torch.cuda.set_per_process_memory_fraction");
  block_cache(device).limit(bytes < 0 ? ~size_t(0) : size_t(bytes));
}

}  // namespace shim::cuda
