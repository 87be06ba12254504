// Running a plan: alpha, beta, the workspace and the launch.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "cpu/convert.h"
#include "cuda/device_failure.h"
#include "gemm/cublaslt_types.h"
#include "gemm/cuda_kernels.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {

Scalars::Scalars(const GemmProblem& p, double a, double b) {
  auto put = [&](unsigned char* to, double v) {
    const float f = float(v);
    const Half h = to_half(f);
    switch (scale_type(p.compute)) {
      case cublaslt::r_64f: std::memcpy(to, &v, sizeof v); break;
      case cublaslt::r_16f: std::memcpy(to, &h, sizeof h); break;
      default: std::memcpy(to, &f, sizeof f);
    }
  };
  put(alpha, a);
  put(beta, b);
}

Workspace workspace(int device, cuda::CUstream stream, bool counters) {
  struct Own {
    Workspace w;
    bool zeroed = false;
  };
  struct Last {
    int device = -1;
    cuda::CUstream stream = nullptr;
    Own* own = nullptr;
  };
  static thread_local Last last;
  if (!last.own || last.device != device || last.stream != stream) {
    static std::mutex lock;
    static auto* all = new std::map<std::pair<int, cuda::CUstream>, Own>();
    std::lock_guard<std::mutex> guard(lock);
    Own& own = (*all)[{device, stream}];
    if (!own.w.memory) {  // kept for ever: a captured graph may refer to it
      cuda::CUdeviceptr p = 0;
      cuda::check(cuda::driver().mem_alloc(&p, kWorkspace + kCounters * sizeof(unsigned)),
          "cuMemAlloc of a 32 MiB matrix product workspace");
      own.w = {reinterpret_cast<void*>(p), reinterpret_cast<unsigned*>(p + kWorkspace)};
    }
    last = {device, stream, &own};
  }
  Own& own = *last.own;
  if (counters && !own.zeroed) {  // within a capture the zeroing is part of the graph, and does not count outside it
    cuda::driver().memset_async(
        reinterpret_cast<cuda::CUdeviceptr>(own.w.counters), 0, kCounters * sizeof(unsigned), stream);
    own.zeroed = !cuda::capturing(stream);
  }
  return own.w;
}

cublaslt::Status run_plan(
    const Plan& plan, int candidate, const GemmBuffers& b, const Scalars& s, void* work, cuda::CUstream stream) {
  const cublaslt::Library& l = cublaslt::library();
  const GemmProblem& p = plan.key.problem;
  const cublaslt::HeuristicResult& choice = plan.candidates[size_t(candidate)];
  const cublaslt::MatmulDesc* desc = &plan.desc;
  cublaslt::MatmulDesc own;
  if (p.epilogue != Epilogue::none ||
      p.scaling != Scaling::none) {  // the only thing that changes between calls is pointers
    if (l.copyable_desc) {
      std::memcpy(&own, &plan.desc, sizeof own);
      auto put = [&](int attribute, const void* pointer) { l.desc_set(&own, attribute, &pointer, sizeof pointer); };
      if (b.bias) put(cublaslt::desc_bias_pointer, b.bias);
      if (b.aux) put(cublaslt::desc_aux_pointer, b.aux);
      if (p.scaling != Scaling::none) {
        put(cublaslt::desc_a_scale_pointer, b.scale_a);
        put(cublaslt::desc_b_scale_pointer, b.scale_b);
      }
    } else if (!fill(own, p, b)) {
      return cublaslt::kInvalidValue;
    }
    desc = &own;
  }
  return l.matmul(cublaslt::handle(plan.key.device), desc, s.alpha, b.a, &plan.a, b.b, &plan.b, s.beta, b.d, &plan.d,
      b.d, &plan.d, &choice.algo, work, kWorkspace, stream);
}

bool launch_cuda(int device, const GemmProblem& p, const GemmBuffers& b, double alpha, double beta) {
  if (!cublaslt::library().loaded || data_type(p.a_dtype) < 0 || data_type(p.d_dtype) < 0) return false;
  if (std::max({p.m, p.n, p.k, p.batch}) > INT32_MAX || std::min({p.m, p.n, p.k}) < 1) return false;
  cuda::OnDevice current(device);
  Plan& plan = plan_for(key_of(device, p, b), b);
  if (!plan.usable()) return false;
  const cuda::CUstream stream = cuda::current_stream(device);
  void* work = workspace(device, stream).memory;
  const bool plain = alpha == 1 && beta == double(p.accumulate);  // what a direct launch has in its kernels' parameters
  if (const DirectLaunch* direct = plan.direct.load(std::memory_order_acquire);
      direct && plain && settings().direct && direct->may_run(stream)) {
    if (direct->run(b, work, stream)) {
      counters().lt.fetch_add(1, std::memory_order_relaxed);
      counters().direct.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    cuda::check_device(device);
    plan.direct = nullptr;
  }
  const Scalars scalars(p, alpha, beta);
  if (!plan.settled.load(std::memory_order_relaxed)) settle(plan, b, scalars, plain, work, stream);
  if (plan.own_kernel.load(std::memory_order_relaxed) && alpha == 1 && skinny_run(plan.skinny, device, p, b, stream))
    return true;
  for (int i = plan.chosen; size_t(i) < plan.candidates.size(); i = plan.chosen) {
    if (run_plan(plan, i, b, scalars, work, stream) == cublaslt::kSuccess) {
      counters().lt.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    cuda::check_device(device);
    plan.chosen.compare_exchange_strong(i, i + 1);  // an algorithm that cannot run is not tried again
  }
  return false;
}

}  // namespace shim::gemm
