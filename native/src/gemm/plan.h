#pragma once
// How cuBLASLt runs one problem: descriptors built once, and the algorithm chosen for it.
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/report.h"
#include "cuda/cublaslt.h"
#include "gemm/direct.h"
#include "ops/gemm_problem.h"
#include "gemm/skinny.h"

namespace shim::gemm {

constexpr size_t kWorkspace = size_t(32) << 20;
constexpr int kCandidates = 8;

struct PlanKey {
  GemmProblem problem;
  int32_t device = 0;
  uint32_t alignments = 0;  // log2, capped at 8, of a, b, d, bias, aux: four bits each
  bool operator==(const PlanKey&) const = default;
};
struct PlanKeyHash {
  size_t operator()(const PlanKey&) const;
};
PlanKey key_of(int device, const GemmProblem&, const GemmBuffers&);

struct Trial {
  float device = 0, host = 0;
};  // what a way took when it was measured, in microseconds; 0: not at all

struct Plan {
  explicit Plan(const PlanKey& k) : key(k) {}
  PlanKey key;
  cublaslt::MatmulDesc desc{};
  cublaslt::MatrixLayout a{}, b{}, d{};
  std::vector<cublaslt::HeuristicResult> candidates;  // best guess first; none: the library has no algorithm for this
  std::atomic<int> chosen{0};
  std::atomic<uint32_t> uses{0};
  std::atomic<bool> tuned{false};
  std::atomic<bool> settled{false};                  // nothing more will be measured or tried
  Skinny skinny = Skinny::none;                      // our own kernel for this problem
  std::atomic<bool> own_kernel{false};               // measured: it beats the candidates
  std::atomic<const DirectLaunch*> direct{nullptr};  // of the chosen candidate; once there it lives for ever
  std::vector<Trial> trials;  // of the candidates, our own kernel last; this and the note are complete once
  std::string note;           // (about direct) `settled_note` is
  std::atomic<bool> settled_note{false};
  std::atomic<int> fusion{0};  // measured: its epilogue is worth more than kernels of our own (1), or is not (-1)
  std::atomic<uint32_t> fusion_uses{0};
  bool usable() const { return size_t(chosen.load(std::memory_order_relaxed)) < candidates.size(); }
};

bool fill(cublaslt::MatmulDesc&, const GemmProblem&, const GemmBuffers&);  // the descriptor with its pointers
void build_plan(Plan&, const GemmBuffers&);          // its descriptors, and the algorithms that cuBLASLt offers
Plan& plan_for(const PlanKey&, const GemmBuffers&);  // from the cache, or built; lives for ever
size_t result_bytes(const GemmProblem&);             // from the first to the last element of D

Fact plan_reports();  // of every plan there is: its problem, what was chosen for it, how long the choices took

struct Scalars {  // alpha and beta in the problem's scale type, as the library reads them
  Scalars(const GemmProblem&, double alpha, double beta);
  alignas(8) unsigned char alpha[8], beta[8];
};
void settle(Plan&, const GemmBuffers&, const Scalars&, bool plain_scalars, void* work, cuda::CUstream);

struct Workspace {
  void* memory = nullptr;        // kWorkspace bytes that no other stream uses
  unsigned* counters = nullptr;  // kCounters zeros; kernels that count leave them at zero
};
constexpr size_t kCounters = 65536;
Workspace workspace(int device, cuda::CUstream, bool counters = false);
cublaslt::Status run_plan(const Plan&, int candidate, const GemmBuffers&, const Scalars&, void* work, cuda::CUstream);

// Measures the candidates and keeps the best: never while a stream is captured, never in deterministic mode.
void tune(Plan&, const GemmBuffers&, const Scalars&, void* work, cuda::CUstream);

// Whether this product, with its epilogue, is measured to be faster than other kernels with the same results: `run` enqueues
// the one (true) or the others. False until it has been measured, and in deterministic mode.
bool worth_fusing(int device, const GemmProblem& fused, const GemmBuffers&, const std::function<bool(bool fused)>& run);

// Algorithms measured in earlier processes (plan_store.cpp), by library version, GPU and driver.
bool recall(const PlanKey&, cublaslt::Algo*);
void remember(const PlanKey&, const cublaslt::Algo&);

bool launch_cuda(int device, const GemmProblem&, const GemmBuffers&, double alpha, double beta);

}  // namespace shim::gemm
