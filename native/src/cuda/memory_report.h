#pragma once
// Device memory as torch.cuda tells of it and sets it, by device; where there is no driver, there is none.
#include <tuple>

#include "core/report.h"

namespace shim::cuda {

std::tuple<int64_t, int64_t, int64_t, int64_t> memory_figures(int device);  // used, reserved, and the most of both
Fact memory_statistics(int device);  // by PyTorch's names: "allocated_bytes.small_pool.peak"
Fact memory_snapshot(int device);    // a part for each segment, as torch.cuda.memory_snapshot() gives them
void empty_cache(int device);
void reset_statistics(int device, bool peaks, bool totals);
void limit_memory(int device, int64_t bytes);  // below 0: no limit

}  // namespace shim::cuda
