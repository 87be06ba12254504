#include "trace/launches.h"

#include "trace/foreseen.h"
#include "trace/learn.h"

namespace shim::trace {

namespace {

const Produced kNothing{Results::list, {}};

template <class F> void each_tensor(const LaunchValues& l, F&& f) {
  any_tensor(l.values, l.n, [&](TensorImpl& t) { return f(t), false; });
}

}  // namespace

const char* against_launch(const cuda::CompiledKernel& kernel, const LaunchValues& l) {
  if (kernel.at_once) return kernel.at_once;
  const char* why = nullptr;
  bool any = false;
  each_tensor(l, [&](const TensorImpl& t) {
    any = true;
    if (t.device().index != kernel.device) why = "a Triton launch on another device than its tensors";
    if (!t.numel()) why = "a Triton launch with tensors of no elements";
    if (t.has_math_bits()) why = "a Triton launch with conjugate or negative bits";
  });
  return any ? why : "a Triton launch without tensors";
}

bool deferred_launch(Session& s, Operator& op, const LaunchValues& l) {
  Given given;
  TreeNode* node = s.following() ? known(s, op, l.values, l.n, false, given) : nullptr;
  Foreseen f;
  if (!node && may_foresee(s, op)) {
    f = foresee(s, op, l.values, l.n, kNothing, false, given);
    node = f.node;
    if (node) note_line(*node);
  }
  if (!node && s.refusal) s.missed(op, Session::who_asks(nullptr));
  if (node) s.defer(*node, given.inputs, given.parameters, f.held);
  return node != nullptr;
}

void before_launch(Session& s, const LaunchValues& l) {
  const auto hidden = [](const TensorImpl& t) { return t.storage()->hidden(); };
  if (s.any_deferred() && any_tensor(l.values, l.n, hidden)) s.flush();
  s.unwatch();
}

void learn_launch(Session& s, Operator& op, const char* why_at_once, const LaunchValues& l) {
  if (why_at_once)
    at_once(s, op, why_at_once);
  else
    learn(s, op, l.values, l.n, kNothing, false);
  if (!s.watching) return;
  each_tensor(l, [&](const TensorImpl& t) { s.watch(*t.storage()); });
  s.rewatch();
}

}  // namespace shim::trace
