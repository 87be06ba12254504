// What cuBLASLt is told of a problem, and the algorithms that it offers.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/convert.h"
#include "gemm/cuda_kernels.h"
#include "gemm/cublaslt_types.h"
#include "gemm/plan.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {

namespace {

namespace lt = cublaslt;

uint32_t alignment_log2(const void* p) {
  if (!p) return 8;
  return uint32_t(std::min(std::countr_zero(reinterpret_cast<uintptr_t>(p)), 8));
}

bool reads_bias(Epilogue e) {
  return e == Epilogue::bias || e == Epilogue::relu_bias || e == Epilogue::relu_aux_bias || e == Epilogue::gelu_bias ||
         e == Epilogue::gelu_aux_bias;
}
bool writes_bias(Epilogue e) {
  return e == Epilogue::bgrad_a || e == Epilogue::bgrad_b || e == Epilogue::drelu_bgrad || e == Epilogue::dgelu_bgrad;
}
bool has_aux(Epilogue e) { return (uint16_t(e) & 128) != 0; }

bool layout(lt::MatrixLayout& m, DType t, int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride) {
  const lt::Library& l = lt::library();
  if (l.layout_init(&m, sizeof m, data_type(t), uint64_t(rows), uint64_t(cols), ld) != lt::kSuccess) return false;
  const int32_t count = int32_t(batch);
  return batch == 1 || (l.layout_set(&m, lt::layout_batch, &count, sizeof count) == lt::kSuccess &&
                           l.layout_set(&m, lt::layout_stride, &stride, sizeof stride) == lt::kSuccess);
}

bool preference(lt::Preference& p, const PlanKey& key, uint64_t workspace) {
  const lt::Library& l = lt::library();
  auto put = [&](int attribute, auto value) {
    return l.preference_set(&p, attribute, &value, sizeof value) == lt::kSuccess;
  };
  auto align = [&](int place) { return uint32_t(1) << ((key.alignments >> (4 * place)) & 15); };
  const uint32_t mask = key.problem.reduction_mask;
  return l.preference_init(&p, sizeof p) == lt::kSuccess && put(lt::preference_workspace, workspace) &&
         put(lt::preference_reductions, mask) && put(lt::preference_align_a, align(0)) &&
         put(lt::preference_align_b, align(1)) && put(lt::preference_align_c, align(2)) &&
         put(lt::preference_align_d, align(2));
}

void offer(Plan& plan, const lt::HeuristicResult& way) {  // unless it is there already
  const auto same = [&](const lt::HeuristicResult& r) { return std::memcmp(&r.algo, &way.algo, sizeof r.algo) == 0; };
  if (std::none_of(plan.candidates.begin(), plan.candidates.end(), same)) plan.candidates.push_back(way);
}

// The library's guesses with no more than `workspace`.
void ask(Plan& plan, uint64_t workspace, int count) {
  const lt::Library& l = lt::library();
  lt::Preference preferred{};
  lt::HeuristicResult found[kCandidates];
  int n = 0;
  if (!preference(preferred, plan.key, workspace)) return;
  if (l.heuristic(lt::handle(plan.key.device), &plan.desc, &plan.a, &plan.b, &plan.d, &plan.d, &preferred, count, found,
          &n) != lt::kSuccess)
    return;
  for (int i = 0; i < n; ++i)
    if (found[i].state == lt::kSuccess) offer(plan, found[i]);
}

// The guesses of each tile with other clusters and orders of its tiles. For large products in TF32 the library's own guesses leave up
// to 4% there (2048x4096x16384, 8192x4096x16384 on an H200; in 16 bits nothing was gained).
void vary(Plan& plan) {
  const GemmProblem& p = plan.key.problem;
  const lt::Library& l = lt::library();
  constexpr double kLarge = 1e11;  // multiplications: a millisecond of work makes up for a longer choice
  if (p.compute != Compute::tf32 || double(p.m) * double(p.n) * double(p.k) * double(p.batch) < kLarge) return;
  std::vector<uint32_t> tiles;
  const size_t guesses = plan.candidates.size();
  for (size_t i = 0; i < guesses; ++i) {
    uint32_t tile = 0;
    size_t written = 0;
    if (l.algo_config(&plan.candidates[i].algo, lt::algo_tile, &tile, sizeof tile, &written) != lt::kSuccess) continue;
    if (std::find(tiles.begin(), tiles.end(), tile) != tiles.end()) continue;
    tiles.push_back(tile);
    for (uint16_t cluster : {lt::cluster_1x1, lt::cluster_2x1, lt::cluster_1x2})
      for (uint32_t swizzle : {0u, 3u}) {
        lt::Algo algo = plan.candidates[i].algo;
        lt::HeuristicResult checked{};
        if (l.algo_set(&algo, lt::algo_cluster, &cluster, sizeof cluster) == lt::kSuccess &&
            l.algo_set(&algo, lt::algo_swizzle, &swizzle, sizeof swizzle) == lt::kSuccess &&
            l.algo_check(lt::handle(plan.key.device), &plan.desc, &plan.a, &plan.b, &plan.d, &plan.d, &algo,
                &checked) == lt::kSuccess &&
            checked.workspace <= kWorkspace)
          checked.algo = algo, offer(plan, checked);
      }
  }
}

// An algorithm measured before goes to the front.
void prefer_remembered(Plan& plan) {
  lt::Algo algo{};
  lt::HeuristicResult kept{};
  if (settings().deterministic || !settings().tuning || !recall(plan.key, &algo)) return;
  const lt::Library& l = lt::library();
  if (l.algo_check(lt::handle(plan.key.device), &plan.desc, &plan.a, &plan.b, &plan.d, &plan.d, &algo, &kept) !=
      lt::kSuccess)
    return;
  kept.algo = algo;
  if (kept.workspace > kWorkspace) return;
  plan.candidates.insert(plan.candidates.begin(), kept);
  plan.tuned = true;
}

}  // namespace

void build_plan(Plan& plan, const GemmBuffers& buffers) {
  const GemmProblem& p = plan.key.problem;
  if (!fill(plan.desc, p, buffers)) return;
  if (!layout(plan.a, p.a_dtype, p.trans_a ? p.k : p.m, p.trans_a ? p.m : p.k, p.lda, p.batch, p.stride_a)) return;
  if (!layout(plan.b, p.b_dtype, p.trans_b ? p.n : p.k, p.trans_b ? p.k : p.n, p.ldb, p.batch, p.stride_b)) return;
  if (!layout(plan.d, p.d_dtype, p.m, p.n, p.ldd, p.batch, p.stride_d)) return;
  ask(plan, kWorkspace, kCandidates);
  ask(plan, uint64_t(1) << 20, 2);  // what others, with less memory to work in, would run
  ask(plan, 0, 1);
  vary(plan);
  plan.skinny = skinny_kind(p, buffers);
  if (!plan.candidates.empty()) prefer_remembered(plan);
  ++counters().plans;
}

PlanKey key_of(int device, const GemmProblem& p, const GemmBuffers& b) {
  const void* pointers[] = {b.a, b.b, b.d, b.bias, b.aux};
  PlanKey key{p, device, 0};
  for (int i = 0; i < 5; ++i) key.alignments |= alignment_log2(pointers[i]) << (4 * i);
  return key;
}

bool fill(lt::MatmulDesc& d, const GemmProblem& p, const GemmBuffers& b) {
  const lt::Library& l = lt::library();
  bool ok = l.desc_init(&d, sizeof d, compute_type(p.compute), scale_type(p.compute)) == lt::kSuccess;
  auto put = [&](int attribute, auto value) {
    ok = ok && l.desc_set(&d, attribute, &value, sizeof value) == lt::kSuccess;
  };
  put(lt::desc_trans_a, int32_t(p.trans_a));
  put(lt::desc_trans_b, int32_t(p.trans_b));
  if (p.epilogue != Epilogue::none) put(lt::desc_epilogue, uint32_t(p.epilogue));
  if (reads_bias(p.epilogue) || writes_bias(p.epilogue)) {
    put(lt::desc_bias_pointer, b.bias);
    if (p.bias_dtype != DType::undefined && p.bias_dtype != p.d_dtype)
      put(lt::desc_bias_type, int32_t(data_type(p.bias_dtype)));
    if (p.stride_bias) put(lt::desc_bias_batch_stride, p.stride_bias);
  }
  if (has_aux(p.epilogue)) {
    put(lt::desc_aux_pointer, b.aux);
    put(lt::desc_aux_ld, p.aux_ld);
    if (p.aux_stride) put(lt::desc_aux_batch_stride, p.aux_stride);
  }
  if (p.sm_target) put(lt::desc_sm_target, p.sm_target);
  if (p.scaling != Scaling::none) {
    put(lt::desc_a_scale_pointer, b.scale_a);
    put(lt::desc_b_scale_pointer, b.scale_b);
    put(lt::desc_fast_accumulate, int8_t(p.fast_accumulate));
    if (p.scaling == Scaling::row) {
      put(lt::desc_a_scale_mode, lt::kScaleOuterVector);
      put(lt::desc_b_scale_mode, lt::kScaleOuterVector);
    }
  }
  return ok;
}

}  // namespace shim::gemm
