// Backward passes within compiled functions (trace/known_backward.h).
#include "autograd/autocast.h"
#include "autograd/operator_node.h"
#include "autograd/profile.h"
#include "core/uninitialized.h"
#include "ops/gemm_settings.h"
#include "trace/calls.h"
#include "trace/known_backward.h"

namespace shim::trace {

namespace {

uint64_t word_of(const AutocastState& s) { return uint64_t(s.enabled) << 8 | uint64_t(s.dtype); }

}  // namespace

void trace_backward(
    const std::vector<Edge>& roots, const Grads& gradients, bool retain_graph, const std::function<void()>& run) {
  Session* s = tracing_here(nullptr, 0);
  const bool watched = Anomaly::enabled || profile::on || (onlookers && onlookers() != Onlookers::none);
  if (!s || watched) return run();
  const AutocastMode& casts = autocast_mode();
  const uint64_t state[] = {s->apart, word_of(casts.cpu), word_of(casts.cuda), casts.cache, InferenceMode::enabled(),
      gemm::settings().deterministic, fill_uninitialized};
  backward_pass(*s, roots, gradients, retain_graph, state, run);
}

}  // namespace shim::trace
