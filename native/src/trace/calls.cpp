// Operators of a compiled function: deferred where its tree knows them, else run and learned.
#include "trace/calls.h"

#include <algorithm>

#include "autograd/forward_mode.h"
#include "dispatch/replaced_arguments.h"
#include "trace/checks.h"
#include "trace/foreseen.h"
#include "trace/known_backward.h"
#include "trace/learn.h"
#include "trace/running.h"

namespace shim::trace {

int inside_traced = 0;

void set_tracing(bool on) { tracing = operators_are_traced = on; }

namespace {

// The tensors that a call which was just deferred gives.
void give_results(const Session& s, const TreeNode& node, Result& r) {
  r.clear();
  if (node.form == Results::one) return r.give(s.result(node.results[0]));
  r.answer.make_room(node.results.size());
  r.answer.kind = node.form == Results::tuple ? Answer::tuple : Answer::list;
  for (size_t i = 0; i < node.results.size(); ++i) {
    r.answer.parts[i].kind = Answer::tensor;
    r.answer.parts[i].t = s.result(node.results[i]).detach();
  }
}

// f(tensor) for each that the operator writes to, as its schema says.
template <class F> void each_written(const Operator& op, const Value* args, size_t n, F&& f) {
  for (size_t i = 0; i < n; ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write) each_tensor(args + i, 1, f);
}

// Gives the results of a call that is deferred. Writes are counted at once.
void deferred(Session& s, TreeNode& node, const Given& given, const Value* args, size_t n, Result& r,
    std::shared_ptr<TreeNode> held = {}) {
  each_written(*node.op, args, n, [](TensorImpl& t) { t.bump_version(); });
  s.defer(node, given.inputs, given.parameters, std::move(held));
  give_results(s, node, r);
}

TreeNode* known(Session& s, Operator& op, const Value* args, size_t n, Given& given) {
  if (!s.following() || s.at()->next.empty()) return nullptr;
  return known(s, op, args, n, composite_wants_gradient(op, args, n), given);
}

// Whether something deferred touches what an operator that runs at once is given.
void run_before(Session& s, const Value* args, size_t n) {
  if (s.any_deferred() && any_tensor(args, n, [](TensorImpl& t) { return t.storage()->hidden(); })) s.flush();
  s.unwatch();
}

// The same of a thread that is not the session's: its kernels may let go of the lock.
void before_another_thread(const Value* args, size_t n) {
  if (current()->runs_elsewhere() || any_tensor(args, n, [](TensorImpl& t) { return t.storage()->hidden(); }))
    run_for_others();
}

// The same, but a view of pending memory, or the tensor itself, is given as it is; a copy asks for the memory when it is made.
void run_before(Session& s, const Operator& op, const Value* args, size_t n) {
  if (s.tree().aliases.contains(&op)) return s.unwatch();
  run_before(s, args, n);
}

void watch_all(Session& s, const Value* args, size_t n, const Answer* result) {
  if (!s.watching) return;
  const auto watch = [&](TensorImpl& t) { s.watch(*t.storage()); };
  each_tensor(args, n, watch);
  if (result) each_tensor(*result, watch);
  s.rewatch();
}

bool learn(Session& s, Operator& op, const Value* args, size_t n, const Produced& produced) {
  return learn(s, rule_of(op), op, args, n, produced, composite_wants_gradient(op, args, n));
}

// Whether what follows on the known ways are not this operator but, if it is the same call, its parts. What gives nothing (an optimizer's
// step) is always taken whole where it can be: other operators on the way are those that began its state.
bool taken_apart(const Session& s, const Operator& op) {
  return s.following() && !op.schema.returns.empty() && !s.at()->next.empty() &&
         std::ranges::none_of(s.at()->next, [&](const auto& next) { return next->op == &op; });
}

// While the body of an operator runs, which may look at values for itself: whether a matrix is singular. One that gives numbers reads for
// whoever calls it.
class Body {
 public:
  explicit Body(const Operator& op) {
    const auto& gives = op.schema.returns;
    const auto tensor = [](const auto& given) { return given.type.base == ArgType::Tensor; };
    if (op.kind != Operator::Composite || gives.empty() || !std::ranges::all_of(gives, tensor)) return;
    if (Session* s = current(); s && s->on_this_thread()) ++(session_ = s)->inside_bodies;
  }
  Body(const Body&) = delete;
  ~Body() {
    if (session_) --session_->inside_bodies;
  }

 private:
  Session* session_ = nullptr;
};

void run_traced(Operator& op, Value* args, size_t n, Result& r) {
  const bool parts = op.kind == Operator::Composite && !op.native && !op.native_cpu;
  const Body body(op);
  Session* s = op.kind == Operator::View || parts ? nullptr : tracing_here(args, n);
  if (!s) return run_at_once(op, args, n, r);
  Given given;
  if (TreeNode* node = known(*s, op, args, n, given)) return deferred(*s, *node, given, args, n, r);
  const bool whole = op.kind == Operator::Composite && foreseen_whole(*s, op, args, n);
  if (op.kind != Operator::Composite || whole)
    if (Foreseen f = foreseen(*s, op, args, n, false, given); f.node) {
      if (whole) s->tree().leaves.insert(&op);
      return deferred(*s, *f.node, given, args, n, r, f.held);
    }
  if (op.kind == Operator::Composite) {
    if (s->tree().leaves.contains(&op) && !taken_apart(*s, op)) run_before(*s, op, args, n);
    return run_at_once(op, args, n, r);
  }
  if (const Rule& rule = rule_of(op); !rule.shape.empty()) s->asked(nullptr, rule.shape.c_str(), Asks::shape);
  if (s->any_deferred_on_cuda() && rule_of(op).library) s->flush();  // it may look at streams
  end_foreseeing(*s, op, args, n);
  run_before(*s, op, args, n);
  {
    Inside in;
    run_at_once(op, args, n, r);
  }
  learn(*s, op, args, n, produced_by(r.answer));
  watch_all(*s, args, n, &r.answer);
}

// The native function of a composite: where it takes the call, it is one operator of the trace.
bool run_kernel_traced(KernelCall kernel, Operator& op, const Value* args, size_t n, Result& r) {
  const auto takes = [&] { return kernel(op, args, r.answer), r.answer.kind != Answer::declined; };
  Session* s = tracing_here(args, n);
  if (!s) return takes();
  const bool apart = (s->tree().backend && s->following()) || (s->any_deferred() && taken_apart(*s, op));
  if (apart && !rule_of(op).draws) return false;  // its parts become nodes
  s->unwatch();
  bool took = false;
  try {
    Inside in;
    took = takes();
  } catch (...) {
    s->rewatch();
    throw;
  }
  if (!took) return s->rewatch(), false;
  if (learn(*s, op, args, n, produced_by(r.answer))) s->tree().leaves.insert(&op);
  watch_all(*s, args, n, &r.answer);
  return true;
}

// An operator that writes to its first argument.
void write_traced(Operator& op, const Value* args, size_t n, const std::function<void(bool)>& write) {
  Session* s = tracing_here(args, n);
  TensorSpec before;
  if (s) {
    Given given;
    Foreseen f{known(*s, op, args, n, given), {}};
    if (!f.node) f = foreseen(*s, op, args, n, true, given);
    if (f.node) return s->defer(*f.node, given.inputs, given.parameters, f.held), write(true);
    end_foreseeing(*s, op, args, n);
    run_before(*s, args, n);
    before = TensorSpec::of(*args[0].t);
  }
  struct Watching {  // once it ran, or failed
    Session* s;
    const Value* args;
    size_t n;
    ~Watching() {
      if (s) watch_all(*s, args, n, nullptr);
    }
  } watching{s, args, n};
  Inside in;
  write(false);
  if (!s) return;
  if (before.lies_like(*args[0].t))
    learn(*s, op, args, n, {});
  else
    at_once(*s, op, "it gives its argument another shape");
}

}  // namespace

Session* tracing_here(const Value* args, size_t n) {
  Session* s = current();
  if (!s) return nullptr;
  if (!s->on_this_thread()) return before_another_thread(args, n), nullptr;
  if (inside_traced) return nullptr;
  if (s->runs_elsewhere()) wait_for_others();
  const bool plain = !gradient_transforms && !running_transforms && !forward_gradients() &&
                     !(python_dispatch && (below_handler || wants_dispatch(args, n)));
  if (plain && s->same_modes()) return s;
  s->flush();
  return nullptr;
}

void before_untraced(const Value* args, size_t n) {
  Session* s = current();
  if (s && !s->on_this_thread()) return before_another_thread(args, n);
  if (s && !inside_traced) run_before(*s, args, n);
}

std::vector<Tensor> run_node(const TreeNode& node, std::span<const Tensor> inputs, std::span<const Scalar> parameters) {
  WithoutModes without;
  const size_t n = node.arguments.size();
  ValueRoom room;
  Value* args = room.take(n);
  NodeArguments arguments(inputs);
  for (size_t i = 0, parameter = 0; i < n; ++i) {
    const ArgumentSpec& a = node.arguments[i];
    args[i] = arguments.of(a, a.kind == ArgumentSpec::parameter ? &parameters[parameter++] : nullptr);
  }
  std::vector<std::pair<Storage*, uint32_t>> versions;  // counted when the operator was called
  each_written(*node.op, args, n,
      [&](TensorImpl& t) { versions.emplace_back(t.storage().get(), t.storage()->version().load()); });
  Result r;
  node.form == Results::none ? run_inplace(*node.op, args, n, r) : run_functional(*node.op, args, n, r);
  for (auto [storage, version] : versions) storage->version() = version;
  return node.form == Results::none ? std::vector<Tensor>() : produced_by(r.answer).tensors;
}

void install_traced_calls() {
  Storage::run_deferred = run_deferred;
  traced_calls = {run_traced, run_kernel_traced, write_traced, before_untraced};
  traced_backward = trace_backward;
}

}  // namespace shim::trace
