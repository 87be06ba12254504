#include "ops/gemm_settings.h"

#include <cstdlib>
#include <cstring>

#include <strings.h>

#include "ops/gemm_problem.h"

namespace shim::gemm {
namespace {

thread_local int tls_legacy = -1;
std::atomic<int> process_legacy{-1};

// A switch of the environment: unset and empty say nothing (-1).
int switch_of(const char* name) {
  const char* v = std::getenv(name);
  if (!v || !*v) return -1;
  for (const char* off : {"0", "false", "no", "off"})
    if (strcasecmp(v, off) == 0) return 0;
  return 1;
}

bool legacy_from_environment() {
  const int ours = switch_of("SHIM_LEGACY_LINEAR");
  return (ours >= 0 ? ours : switch_of("FLAGS_use_legacy_linear")) > 0;
}

void mix(size_t& h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
}

}  // namespace

Settings& settings() {
  static Settings s;
  static const bool read = [] {
    const char* v = std::getenv("SHIM_GEMM_DIRECT");
    if (v && std::strcmp(v, "0") == 0) s.direct = false;
    return true;
  }();
  (void)read;
  return s;
}

Counters& counters() {
  static Counters c;
  return c;
}

bool legacy_linear() {
  if (tls_legacy >= 0) return tls_legacy != 0;
  if (const int said = process_legacy.load(std::memory_order_relaxed); said >= 0) return said != 0;
  static const bool environment = legacy_from_environment();
  return environment;
}

int set_legacy_linear(int value) {
  int old = tls_legacy;
  tls_legacy = value;
  return old;
}

int set_process_legacy_linear(int value) { return process_legacy.exchange(value); }

size_t hash_of(const GemmProblem& p) {
  size_t h = 0;
  mix(h, uint64_t(uint8_t(p.a_dtype)) | uint64_t(uint8_t(p.b_dtype)) << 8 | uint64_t(uint8_t(p.d_dtype)) << 16 |
             uint64_t(uint8_t(p.bias_dtype)) << 24 | uint64_t(p.compute) << 32 | uint64_t(p.epilogue) << 40);
  mix(h, uint64_t(p.trans_a) | uint64_t(p.trans_b) << 1 | uint64_t(p.accumulate) << 2 |
             uint64_t(p.fast_accumulate) << 3 | uint64_t(p.scaling) << 4 | uint64_t(p.reduction_mask) << 8 |
             uint64_t(uint32_t(p.sm_target)) << 16);
  for (int64_t v : {p.m, p.n, p.k, p.lda, p.ldb, p.ldd, p.batch}) mix(h, uint64_t(v));
  if (p.batch > 1)
    for (int64_t v : {p.stride_a, p.stride_b, p.stride_d, p.stride_bias, p.aux_stride}) mix(h, uint64_t(v));
  if (p.aux_ld) mix(h, uint64_t(p.aux_ld));
  return h;
}

std::atomic<bool>* switch_named(std::string_view name) {
  Settings& s = settings();
  const std::pair<std::string_view, std::atomic<bool>*> all[] = {{"allow_tf32", &s.allow_tf32},
      {"fp16_reduced", &s.fp16_reduced}, {"fp16_split_k", &s.fp16_split_k}, {"bf16_reduced", &s.bf16_reduced},
      {"bf16_split_k", &s.bf16_split_k}, {"fp16_accumulation", &s.fp16_accumulation},
      {"deterministic", &s.deterministic}, {"tuning", &s.tuning}, {"always_fuse", &s.always_fuse},
      {"one_launch", &s.one_launch}, {"direct", &s.direct}};
  for (const auto& [known, found] : all)
    if (known == name) return found;
  return nullptr;
}

Fact status() {
  const Counters& c = counters();
  return Fact::Named{{"cpu_library", cpu_library()}, {"cpu", c.cpu.load()}, {"cublaslt", c.lt.load()},
      {"direct", c.direct.load()}, {"own_kernels", c.own.load()}, {"plans", c.plans.load()}, {"tuned", c.tuned.load()},
      {"fallbacks", c.fallbacks.load()}};
}

}  // namespace shim::gemm
