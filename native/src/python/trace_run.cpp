// Operators of a compiled function: deferred where its tree knows them, else run and learned.
#include <algorithm>
#include <utility>

#include "autograd/autocast.h"
#include "autograd/forward_mode.h"
#include "autograd/operator_node.h"
#include "python/batching.h"
#include "python/forward_mode.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch_state.h"
#include "python/torch_function_state.h"
#include "python/library_table.h"
#include "python/trace.h"
#include "python/trace_call.h"
#include "python/trace_modes.h"
#include "python/trace_rules.h"
#include "python/values.h"
#include "trace/checks.h"
#include "trace/run_together.h"

namespace shim {

using namespace trace;

bool tracing = false;
int inside_traced = 0;

void set_tracing(bool on) { tracing = operators_are_traced = on; }

namespace {

// Parts of a composite record its history, so whether it is wanted decides what runs.
bool composite_wants_gradient(const Operator& op, PyObject* const* args, size_t n) {
  return op.kind == Operator::Composite && GradMode::enabled() && any_requires_grad(args, n);
}

// The tensors that a call which was just deferred gives.
PyObject* results_object(const Session& s, const TreeNode& node) {
  if (node.form == Results::one) return wrap(s.result(node.results[0]));
  std::vector<Tensor> results;  // all of them, before an object is made: the collector may run what is deferred
  for (const TensorSpec& r : node.results) results.push_back(s.result(r));
  std::vector<PyObject*> objects;
  for (Tensor& t : results) objects.push_back(wrap(std::move(t)));
  OwnedRef all{tuple_of(objects)};
  return !all.o || node.form == Results::tuple ? all.give() : PySequence_List(all);
}

// f(tensor) for each that the operator writes to, as its schema says.
template <class F> void each_written(const Operator& op, PyObject* const* args, size_t n, F&& f) {
  for (size_t i = 0; i < n; ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write) each_tensor(args[i], f);
}

// Gives the results of a call that is deferred. Writes are counted at once.
PyObject* deferred(Session& s, TreeNode& node, const Given& given, PyObject* const* args, size_t n,
    std::shared_ptr<TreeNode> held = {}) {
  each_written(*node.op, args, n, [](TensorImpl& t) { t.bump_version(); });
  s.defer(node, given.inputs, given.parameters, std::move(held));
  return results_object(s, node);
}

TreeNode* known(Session& s, Operator& op, PyObject* const* args, size_t n, Given& given) {
  if (!s.following() || s.at()->next.empty()) return nullptr;
  return known(s, op, Values(args, n).data(), n, composite_wants_gradient(op, args, n), given);
}

}  // namespace

Produced produced_by(PyObject* result) {
  Produced all;
  if (!result) return all;
  all.form = is_tensor(result) ? Results::one : PyTuple_Check(result) ? Results::tuple : Results::list;
  const Values values(&result, 1);
  const Value& v = *values.data();
  const auto add = [&](const Value& one) { all.tensors.emplace_back(one.tag == Value::tensor ? one.t : nullptr); };
  if (v.tag == Value::list)
    std::ranges::for_each(std::span(v.items, v.size), add);
  else
    add(v);
  return all;
}

namespace {

// Whether something deferred touches what an operator that runs at once is given.
void run_before(Session& s, PyObject* const* args, size_t n) {
  if (s.any_deferred() && any_tensor(args, n, [](TensorImpl& t) { return t.storage()->hidden(); })) s.flush();
  s.unwatch();
}

// The same, but a view of pending memory, or the tensor itself, is given as it is; a copy asks for the memory when it is made.
void run_before(Session& s, const Operator& op, PyObject* const* args, size_t n) {
  if (s.tree().aliases.contains(&op)) return s.unwatch();
  run_before(s, args, n);
}

void watch_all(Session& s, PyObject* const* args, size_t n, PyObject* result) {
  if (!s.watching) return;
  each_tensor(args, n, [&](TensorImpl& t) { s.watch(*t.storage()); });
  if (result) each_tensor(result, [&](TensorImpl& t) { s.watch(*t.storage()); });
  s.rewatch();
}

// Of a call that no node is (trace/foreseen.h).
Foreseen foreseen(Session& s, Operator& op, PyObject* const* args, size_t n, bool writes, Given& given) {
  const bool may = may_foresee(s, op);
  if ((!may && !s.refusal) || against_call(rule_of(op), op, Values(args, n).data(), n)) return {};
  Foreseen f;
  if (may) f = foreseen_call(s, op, args, n, writes, composite_wants_gradient(op, args, n), given);
  if (!f.node && s.refusal && op.kind != Operator::Composite) s.missed(op, who_asks(nullptr));
  return f;
}

bool learn(Session& s, Operator& op, PyObject* const* args, size_t n, PyObject* result) {
  const Rule& rule = rule_of(op);
  if (!rule.against.empty()) return at_once(s, op, rule.against.c_str());
  const Values values(args, n);
  return learn(s, rule, op, values.data(), n, produced_by(result), composite_wants_gradient(op, args, n));
}

}  // namespace

std::vector<Tensor> tensors_of(PyObject* result) {
  std::vector<Tensor> all = produced_by(result).tensors;
  std::erase_if(all, [](const Tensor& t) { return !t; });
  return all;
}

void enter_operator() {
  if (Session* s = current(); s && s->on_this_thread()) ++s->inside_operators;
}

void leave_operator() {
  if (Session* s = current(); s && s->on_this_thread() && s->inside_operators) --s->inside_operators;
}

Session* tracing_here(PyObject* const* args, size_t n) {
  Session* s = current();
  if (!s || inside_traced || !s->on_this_thread()) return nullptr;
  const bool plain = !gradient_transforms && !running_transforms() && !forward_gradients() &&
                     !(python_dispatch && (below_python_dispatch() || wants_dispatch(args, n)));
  if (plain && alone() && s->same_modes()) return s;
  if (s->any_deferred()) s->flush();
  s->unwatch();
  return nullptr;
}

void before_untraced(PyObject* const* args, size_t n) {
  Session* s = current();
  if (s && !inside_traced && s->on_this_thread()) run_before(*s, args, n);
}

namespace {

// Whether what follows on the known ways are not this operator but, if it is the same call, its parts. What gives nothing (an optimizer's
// step) is always taken whole where it can be: other operators on the way are those that began its state.
bool taken_apart(const Session& s, const Operator& op) {
  return s.following() && !op.schema.returns.empty() && !s.at()->next.empty() &&
         std::ranges::none_of(s.at()->next, [&](const auto& next) { return next->op == &op; });
}

}  // namespace

PyObject* run_traced(Operator& op, PyObject** args, size_t n, PyObject* (*run)(Operator&, PyObject**, size_t)) {
  const bool parts = op.kind == Operator::Composite && !op.native && !op.native_cpu;
  if (op.kind == Operator::View || parts) return run(op, args, n);
  Session* s = tracing_here(args, n);
  if (!s) return run(op, args, n);
  Given given;
  if (TreeNode* node = known(*s, op, args, n, given)) return deferred(*s, *node, given, args, n);
  if (op.kind != Operator::Composite || s->tree().leaves.contains(&op))
    if (Foreseen f = foreseen(*s, op, args, n, false, given); f.node)
      return deferred(*s, *f.node, given, args, n, f.held);
  if (op.kind == Operator::Composite) {
    if (s->tree().leaves.contains(&op) && !taken_apart(*s, op)) run_before(*s, op, args, n);
    return run(op, args, n);
  }
  if (const Rule& rule = rule_of(op); !rule.shape.empty()) s->asked(nullptr, rule.shape.c_str());
  if (s->any_deferred_on_cuda() && rule_of(op).library) s->flush();  // it may look at streams
  run_before(*s, op, args, n);
  PyObject* r;
  {
    Inside in;
    r = run(op, args, n);
  }
  if (!r) return nullptr;
  learn(*s, op, args, n, r);
  watch_all(*s, args, n, r);
  return r;
}

PyObject* run_native_traced(KernelCall native, Operator& op, PyObject* const* args, size_t n, const Value* values) {
  Session* s = tracing_here(args, n);
  if (!s) return run_native(native, op, values);
  const bool apart = (s->tree().backend && s->following()) || (s->any_deferred() && taken_apart(*s, op));
  if (apart && !rule_of(op).draws) return nullptr;  // its parts become nodes
  s->unwatch();
  PyObject* r;
  {
    Inside in;
    r = run_native(native, op, values);
  }
  if (r) {
    if (learn(*s, op, args, n, r)) s->tree().leaves.insert(&op);
    watch_all(*s, args, n, r);
  } else {
    s->rewatch();
  }
  return r;
}

TracedInplace::TracedInplace(Operator& op, PyObject* const* args, size_t n)
    : op_(op), args_(args), n_(n), session_(tracing_here(args, n)) {
  if (session_) {
    Given given;
    if (TreeNode* node = known(*session_, op, args, n, given)) {
      session_->defer(*node, given.inputs, given.parameters);
      deferred_ = true;
      return;
    }
    if (Foreseen f = foreseen(*session_, op, args, n, true, given); f.node) {
      session_->defer(*f.node, given.inputs, given.parameters, f.held);
      deferred_ = true;
      return;
    }
    run_before(*session_, args, n);
    target_ = TensorSpec::of(*unwrap(args[0]));
  }
  ++inside_traced;
}

TracedInplace::~TracedInplace() {
  if (deferred_) return;
  --inside_traced;
  if (session_) watch_all(*session_, args_, n_, nullptr);
}

void TracedInplace::ran() {
  if (deferred_ || !session_) return;
  if (target_->lies_like(*unwrap(args_[0])))
    learn(*session_, op_, args_, n_, nullptr);
  else
    at_once(*session_, op_, "it gives its argument another shape");
}

void failed_at(const TreeNode& node) {
  guarded([]() -> int { throw; });
#if PY_VERSION_HEX >= 0x030b0000
  {
    Pending raised;
    const std::string note =
        str("In a compiled function, by ", node.op->full_name(), " at ", node.file, ":", node.line);
    OwnedRef added{PyObject_CallMethod(raised.value(), "add_note", "s", note.c_str())};
    if (!added.o) PyErr_Clear();
  }
#endif
  throw PythonError();
}

bool run_together(Session& s, std::span<const Session::Deferred> path, std::span<const Scalar> numbers,
    std::vector<Ref<Storage>>& storages) {
  if (s.tree().backend) return run_by_backend(s, path, storages);
  WithoutModes without;
  return run_as_program(s, path, numbers, storages);
}

std::vector<Tensor> execute_node(
    const TreeNode& node, std::span<const Tensor> inputs, std::span<const Scalar> parameters) {
  WithoutModes without;
  const size_t n = node.arguments.size();
  Bound b;
  b.reset(n);
  size_t parameter = 0;
  NodeArguments arguments(inputs);
  for (size_t i = 0; i < n; ++i) {
    const ArgumentSpec& a = node.arguments[i];
    const Scalar* number = a.kind == ArgumentSpec::parameter ? &parameters[parameter++] : nullptr;
    b.set(i, object_of(arguments.of(a, number)));
  }
  std::vector<std::pair<Storage*, uint32_t>> versions;  // counted when the operator was called
  each_written(*node.op, b.data(), n,
      [&](TensorImpl& t) { versions.emplace_back(t.storage().get(), t.storage()->version().load()); });
  OwnedRef r =
      owned(node.form == Results::none ? run_inplace(*node.op, b.data(), n) : run_functional(*node.op, b.data(), n));
  for (auto [storage, version] : versions) storage->version() = version;
  return node.form == Results::none ? std::vector<Tensor>() : produced_by(r.o).tensors;
}

}  // namespace shim
