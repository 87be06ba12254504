#include "gemm/plan.h"

#include <mutex>
#include <unordered_map>

#include "cpu/convert.h"

namespace shim::gemm {

namespace {

struct Cache {
  static constexpr size_t kShards = 16;
  struct Shard {
    std::mutex lock;
    std::unordered_map<PlanKey, std::unique_ptr<Plan>, PlanKeyHash> plans;
  };
  Shard shards[kShards];
  std::atomic<size_t> count{0};
};

Cache& cache() {
  static auto* c = new Cache();
  return *c;
}

}  // namespace

size_t PlanKeyHash::operator()(const PlanKey& k) const {
  return hash_of(k.problem) ^ (size_t(k.alignments) * 0x9e3779b97f4a7c15ull + size_t(k.device) * 0xff51afd7ed558ccdull);
}

Plan& plan_for(const PlanKey& key, const GemmBuffers& buffers) {
  constexpr size_t kRecent = 64;
  static thread_local Plan* recent[kRecent] = {};
  const size_t h = PlanKeyHash()(key);
  Plan*& slot = recent[h % kRecent];
  if (slot && slot->key == key) return *slot;
  Cache::Shard& shard = cache().shards[(h >> 8) % Cache::kShards];
  std::lock_guard<std::mutex> guard(shard.lock);
  std::unique_ptr<Plan>& plan = shard.plans[key];
  if (!plan) {
    plan = std::make_unique<Plan>(key);
    build_plan(*plan, buffers);
    ++cache().count;
  }
  slot = plan.get();
  return *plan;
}

Fact plan_reports() {
  Fact::List all;
  for (Cache::Shard& shard : cache().shards) {
    std::lock_guard<std::mutex> guard(shard.lock);
    for (auto& [key, plan] : shard.plans) {
      const GemmProblem& p = key.problem;
      Fact::List trials;
      if (plan->settled_note)
        for (const Trial& t : plan->trials) trials.push_back(Fact::Tuple{{double(t.device), double(t.host)}});
      all.push_back(Fact::Named{{"dtype", dtype_name(p.a_dtype)}, {"result", dtype_name(p.d_dtype)},
          {"transposed", std::string(p.trans_a ? "T" : "N") + (p.trans_b ? "T" : "N")}, {"m", p.m}, {"n", p.n},
          {"k", p.k}, {"batch", p.batch}, {"compute", int(p.compute)}, {"epilogue", int(p.epilogue)},
          {"chosen", int(plan->chosen)}, {"fusion", int(plan->fusion)}, {"tuned", bool(plan->tuned)},
          {"own_kernel", bool(plan->own_kernel)},
          {"direct", plan->settled_note ? plan->note : std::string("not settled")}, {"trials", std::move(trials)}});
    }
  }
  return all;
}

}  // namespace shim::gemm
