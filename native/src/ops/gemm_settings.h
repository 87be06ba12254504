#pragma once
// The switches of torch.backends.cuda.matmul and their like, read when a problem is described.
#include <atomic>
#include <string_view>

#include "core/report.h"

namespace shim::gemm {

struct Settings {
  std::atomic<bool> allow_tf32{false};
  std::atomic<bool> fp16_reduced{true}, fp16_split_k{true};  // reduced-precision reductions
  std::atomic<bool> bf16_reduced{true}, bf16_split_k{true};
  std::atomic<bool> fp16_accumulation{false};
  std::atomic<bool> deterministic{false};  // the first plan of the heuristic, never a measured one
  std::atomic<bool> tuning{true};
  std::atomic<bool> always_fuse{false};  // epilogues in place of kernels of our own without measuring them
  std::atomic<bool> one_launch{true};    // gradients of few rows on CUDA
  std::atomic<bool> direct{true};        // launch a library's kernels without its host code (direct.h)
  std::atomic<int> sm_carveout{0};
};
Settings& settings();
std::atomic<bool>* switch_named(std::string_view);  // null: there is none

// Unfused product and sum instead of one fused linear: what this thread says, else the process, else SHIM_LEGACY_LINEAR, else
// FLAGS_use_legacy_linear (Paddle's name of it).
bool legacy_linear();
int set_legacy_linear(int value);          // this thread's word: 1, 0, or -1 for none; gives the former one
int set_process_legacy_linear(int value);  // the same of all threads that say nothing

// What ran, for torch_proxy_status() and tests.
struct Counters {
  std::atomic<uint64_t> cpu{0}, lt{0}, own{0}, plans{0}, tuned{0}, fallbacks{0};
  std::atomic<uint64_t> direct{0};  // of those of cuBLASLt, how many were launched directly
};
Counters& counters();
Fact status();  // and which library serves the CPU

}  // namespace shim::gemm
