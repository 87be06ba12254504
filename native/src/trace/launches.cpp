#include "trace/launches.h"

#include "dispatch/library.h"
#include "trace/calls.h"
#include "trace/foreseen.h"
#include "trace/learn.h"

namespace shim::trace {

namespace {

const Produced kNothing{Results::list, {}};

template <class F> void each_tensor(const LaunchValues& l, F&& f) {
  any_tensor(l.values, l.n, [&](TensorImpl& t) { return f(t), false; });
}

// Why it runs at once; null: it may be deferred.
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

void before_launch(Session& s, const LaunchValues& l, bool learned) {
  const auto hidden = [](const TensorImpl& t) { return t.storage()->hidden(); };
  if (s.any_deferred() && any_tensor(l.values, l.n, hidden)) {
    if (learned) s.run_foreseen();
    s.flush();
  }
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

}  // namespace

Operator& KnownLaunch::as_operator(const std::function<std::string(size_t place)>& name, void* kept) {
  if (op) return *op;
  static size_t made = 0;
  std::vector<std::string> names;
  for (size_t place : places) names.push_back(name(place));
  op = define_operator(cuda::launch_schema(code, names, str("kernel", ++made)), true);
  op->read_schema();
  cuda::launch_by(*op, code, make<HeldObject>(kept));
  return *op;
}

void launch(Session& s, KnownLaunch& known, const unsigned* grid, const Value* call) {
  LaunchValues l(known.code, grid);
  known.put(call, l.parameters());
  const char* const why = against_launch(known.code, l);
  if (!why && deferred_launch(s, *known.op, l)) return;
  before_launch(s, l, !why);
  {
    const Inside inside;
    cuda::launch(known.code, grid, l.parameters());
  }
  learn_launch(s, *known.op, why, l);
}

void learn_launched(Session& s, KnownLaunch* known, const unsigned* grid, const Value* call, size_t n) {
  if (known) {
    LaunchValues l(known->code, grid);
    known->put(call, l.parameters());
    return learn_launch(s, *known->op, against_launch(known->code, l), l);
  }
  ++s.at_once;
  s.reasons.push_back({nullptr, "a Triton launch that stock Triton makes"});
  shim::each_tensor(call, n, [&](const TensorImpl& t) { s.watch(*t.storage()); });
  if (s.watching) s.rewatch();
}

}  // namespace shim::trace
