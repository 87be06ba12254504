// The measured choice among cuBLASLt's candidates for one problem.
#include <algorithm>
#include <random>

#include "gemm/cuda_kernels.h"
#include "gemm/plan.h"
#include "gemm/settings.h"

namespace shim::gemm {
namespace {

using namespace cuda;

constexpr size_t kFlush = size_t(96) << 20;     // more than the second-level cache: candidates start cold, and the host gets ahead
constexpr int kRounds = 5;
constexpr double kBetterBy = 0.97;              // of the first guess's time, or it stays

struct DeviceMemory {
  CUdeviceptr p = 0;
  CUstream stream;
  DeviceMemory(size_t bytes, CUstream s) : stream(s) { if (!bytes || driver().mem_alloc_async(&p, bytes, s) != 0) p = 0; }
  ~DeviceMemory() { if (p) driver().mem_free_async(p, stream); }
  DeviceMemory(const DeviceMemory&) = delete;
};

struct Event {
  CUevent e = nullptr;
  Event() { driver().event_create(&e, 0); }
  ~Event() { if (e) driver().event_destroy(e); }
  Event(const Event&) = delete;
};

size_t result_bytes(const GemmProblem& p) {
  return (size_t(p.batch - 1) * size_t(p.stride_d) + size_t(p.n - 1) * size_t(p.ldd) + size_t(p.m)) * itemsize(p.d_dtype);
}

double median(std::vector<float> v) {
  if (v.empty()) return 1e30;
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

void tune(Plan& plan, const GemmBuffers& given, const Scalars& scalars, void* work, CUstream stream) {
  if (plan.tuned.exchange(true)) return;
  const Driver& d = driver();
  GemmBuffers buffers = given;
  DeviceMemory flush(kFlush, stream);
  DeviceMemory scratch(plan.key.problem.accumulate ? result_bytes(plan.key.problem) : 0, stream);
  if (!flush.p || (plan.key.problem.accumulate && !scratch.p)) return;
  if (scratch.p) buffers.d = reinterpret_cast<void*>(scratch.p);     // D is read: trials must not add to it
  Event begin, end;
  const int library = int(plan.candidates.size());
  const int count = library + (few_rows_fit(plan.key.problem, buffers) ? 1 : 0);       // our own kernel comes last
  auto run = [&](int i) {
    return i < library ? run_plan(plan, i, buffers, scalars, work, stream) == cublaslt::kSuccess : few_rows(plan.key.device, plan.key.problem, buffers, stream);
  };
  std::vector<std::vector<float>> times(static_cast<size_t>(count));
  std::vector<bool> broken(static_cast<size_t>(count));
  std::vector<int> order(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) order[size_t(i)] = i;
  std::minstd_rand shuffler(12345);
  for (int i : order) broken[size_t(i)] = !run(i);
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), shuffler);
    for (int i : order) {
      if (broken[size_t(i)]) continue;
      d.memset_async(flush.p, 0, kFlush, stream);
      d.event_record(begin.e, stream);
      if (!run(i)) broken[size_t(i)] = true;
      d.event_record(end.e, stream);
      float ms = 0;
      if (d.event_synchronize(end.e) != 0 || d.event_elapsed(&ms, begin.e, end.e) != 0) return;
      times[size_t(i)].push_back(ms);
    }
  }
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (broken[size_t(i)]) continue;
    const double limit = broken[size_t(best)] ? 1e30 : best == 0 ? kBetterBy * median(times[0]) : median(times[size_t(best)]);
    if (median(times[size_t(i)]) < limit) best = i;
  }
  ++counters().tuned;
  if (best >= library) {
    plan.own_kernel = true;                     // measured again in every process: only the library's choices are kept on disk
    return;
  }
  if (broken[size_t(best)]) return;
  plan.chosen = best;
  remember(plan.key, plan.candidates[size_t(best)].algo);
}

}  // namespace shim::gemm
