#include "trace/foreseen.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "trace/calls.h"
#include "trace/learn.h"

namespace shim::trace {

TreeNode* known(Session& s, Operator& op, const Value* args, size_t n, bool wants_gradient, Given& given) {
  const auto found = [&](TreeNode& node) {
    given.clear();
    return matches(s, node, args, n, given);
  };
  for (auto& next : s.at()->next) {
    if (next->op != &op && looks_at(Check::op)) continue;
    if (next->apart != s.apart) continue;
    if (next->wants_gradient != wants_gradient && looks_at(Check::gradient)) continue;
    if (found(*next)) return next.get();
    for (auto& resized : next->resized)
      if (found(*resized)) return resized.get();
  }
  return nullptr;
}

bool may_foresee(Session& s, const Operator& op) {
  if (!s.following()) return false;
  if (s.foresees()) return s.learns && !s.refusal && !s.apart && !s.tree().full();
  if (s.tree().backend) return s.learns && !s.refusal && !s.tree().full();
  return s.tree().resizes && std::ranges::any_of(s.at()->next, [&](auto& next) { return next->op == &op; });
}

Foreseen foresee(Session& s, Operator& op, const Value* args, size_t n, const Produced& produced, bool wants_gradient,
    Given& given) {
  TreeNode* of = nullptr;
  const auto wanted = [&](TreeNode& made) {
    made.wants_gradient = wants_gradient;
    if (!s.tree().resizes) return true;
    const auto found = std::ranges::find_if(s.at()->next, [&](auto& next) { return next->alike(made); });
    of = found == s.at()->next.end() ? nullptr : found->get();
    return of || s.tree().backend || s.foresees();
  };
  const char* why = nullptr;
  Foreseen f;
  f.held = node_of(s, op, args, n, produced, &why, wanted);
  if (!f.held) return {};
  given_of(*f.held, args, given);
  f.node = f.held.get();
  if (!of) {
    s.learned += s.foresees();
    return s.add(std::exchange(f.held, nullptr)), f;
  }
  ++s.resized;
  f.node->stands_for = of;
  f.node->kept = of->resized.size() < TreeNode::kMostSizes;
  if (f.node->kept) of->resized.push_back(f.held);
  return f;
}

Tensor StandIns::of(const TensorImpl& t) {
  if (t.dim() || !device_) device_ = t.device();
  TensorSpec spec = TensorSpec::of(t);
  spec.device = kWithoutMemory;
  made_.push_back(spec.over(allocate(spec.nbytes, kWithoutMemory)));
  return made_.back();
}

bool StandIns::set_device(Device d) {
  if (any() && !(d == *device_)) return false;
  device_ = d;
  return true;
}

bool StandIns::lent(const std::vector<Tensor>& results) const {
  return std::ranges::any_of(results, [&](const Tensor& r) {
    return r && std::ranges::any_of(made_, [&](const Tensor& t) { return t->storage() == r->storage(); });
  });
}

std::optional<std::vector<Tensor>> StandIns::with_memory(const std::vector<Tensor>& results) const {
  std::vector<Tensor> all;
  std::vector<std::pair<const Storage*, Ref<Storage>>> storages;
  if (lent(results)) return {};
  for (const Tensor& m : results) {
    if (!m || !m->device().is_meta()) return {};
    const Storage* of = m->storage().get();
    auto known = std::ranges::find(storages, of, &std::pair<const Storage*, Ref<Storage>>::first);
    if (known == storages.end()) known = storages.insert(known, {of, Storage::pending(of->nbytes(), device())});
    TensorSpec spec = TensorSpec::of(*m);
    spec.device = device();
    all.push_back(spec.over(known->second));
  }
  return all;
}

Produced produced_by(const Answer& a) {
  Produced all;
  const auto add = [&](const Answer& one) {
    const bool tensor = one.kind == Answer::tensor || one.kind == Answer::argument;
    all.tensors.emplace_back(tensor ? one.t : nullptr);
  };
  if (a.kind != Answer::tuple && a.kind != Answer::list) return add(a), all.form = Results::one, all;
  all.form = a.kind == Answer::tuple ? Results::tuple : Results::list;
  std::for_each(a.parts, a.parts + a.i, add);
  return all;
}

bool foreseen_whole(const Session& s, Operator& op, const Value* args, size_t n) {
  if (!s.tree().leaves.contains(&op) && (!s.foresees() || rule_of(op).foreseen == Rule::never)) return false;
  return !composite_wants_gradient(op, args, n) || op.schema.returns.empty() || op.schema.name.ends_with("_like");
}

namespace {

void look_at_size(Session& s, const Value* args, size_t n) {
  if (s.first != Session::small) return;
  size_t bytes = 0;
  each_tensor(args, n, [&](const TensorImpl& t) { bytes += t.storage()->nbytes(); });
  if (bytes < foreseen_from) return;
  s.first = Session::foreseen;
  program::laid_otherwise = false;
}

// Whether a first call may defer it.
bool foreseen_at_first(const Rule& rule, const Value* args, size_t n) {
  if (rule.foreseen == Rule::never || rule.foreseen == Rule::always) return rule.foreseen == Rule::always;
  return !any_tensor(args, n, [&](TensorImpl& t) {
    const DType d = t.dtype();
    return rule.foreseen == Rule::of_floats ? !floating(d) : !is_integral(d, true);
  });
}

// An optimizer's step, which gives nothing.
bool steps(const Session& s, const Operator& op) {
  return s.foresees() && op.kind == Operator::Composite && op.schema.returns.empty();
}

// A device that is named is the one of the results; they have no memory for now. False: the tensors are elsewhere.
bool put_devices(StandIns& tensors, const Operator& op, const Value* args, size_t n, Value* to) {
  for (size_t i = 0; i < n; ++i) {
    const ArgType& type = op.schema.args[i].type;
    const bool given = args[i].tag != Value::none;
    if (type.base != ArgType::Device || type.list || (!given && tensors.any())) continue;
    if (given && (args[i].tag != Value::device || !tensors.set_device(args[i].where))) return false;
    to[i] = Value(kWithoutMemory);
  }
  return true;
}

// What the operator says that it gives, asked of it with tensors that have no memory.
Foreseen foreseen_call(Session& s, Operator& op, const Value* args, size_t n, bool writes, Given& given) {
  StandIns tensors;
  ReplacedArguments stand_ins(args, n, [&](const TensorImpl& t, bool) { return tensors.of(t); });
  if (!put_devices(tensors, op, args, n, stand_ins.data())) return {};
  Produced produced;
  if (steps(s, op)) produced.form = Results::tuple;
  try {
    WithoutModes without;
    Result result;
    if (writes)
      run_inplace(op, stand_ins.data(), n, result);
    else if (produced.form == Results::none)
      run_functional(op, stand_ins.data(), n, result), produced = produced_by(result.answer);
  } catch (...) {  // it says so itself when it runs
    return interpreter_calls.drop_error(), Foreseen();
  }
  if (writes) {
    TensorSpec after = TensorSpec::of(*stand_ins.data()[0].t);
    after.device = tensors.device();
    if (!after.lies_like(*args[0].t)) return {};
  } else if (auto results = tensors.with_memory(produced.tensors)) {
    produced.tensors = std::move(*results);
  } else {
    if (s.foresees() && tensors.lent(produced.tensors)) s.tree().aliases.insert(&op);
    return {};
  }
  Foreseen f = foresee(s, op, args, n, produced, composite_wants_gradient(op, args, n), given);
  if (f.node) note_line(*f.node);
  return f;
}

}  // namespace

Foreseen foreseen(Session& s, Operator& op, const Value* args, size_t n, bool writes, Given& given) {
  look_at_size(s, args, n);
  const bool may = may_foresee(s, op) && (!s.foresees() || foreseen_at_first(rule_of(op), args, n));
  if ((!may && !s.refusal) || against_call(rule_of(op), op, args, n)) return {};
  Foreseen f;
  if (may) f = foreseen_call(s, op, args, n, writes, given);
  if (!f.node && s.refusal && op.kind != Operator::Composite) s.missed(op, Session::who_asks(nullptr));
  return f;
}

void end_foreseeing(Session& s, Operator& op, const Value* args, size_t n) {
  if (s.foresees() && !against_call(rule_of(op), op, args, n) && !s.tree().aliases.contains(&op) &&
      any_tensor(args, n, [](TensorImpl& t) { return t.storage()->hidden(); }))
    s.run_foreseen();
}

void Session::run_foreseen() {
  if (!foresees()) return;
  first = over;
  struct OneByOne {
    bool& flag;
    ~OneByOne() { flag = false; }
  } one_by_one{one_by_one_ = true};
  flush();
}

void Tree::forget() {
  std::vector<std::shared_ptr<TreeNode>> all = std::move(root.next);
  while (!all.empty()) {  // a node at a time: a chain of thousands would go by as many calls
    const std::shared_ptr<TreeNode> node = std::move(all.back());
    all.pop_back();
    std::ranges::move(node->next, std::back_inserter(all));
    node->next.clear();
  }
  root.next.clear();
  root.backwards.clear();
  programs.clear();
  graph_memory.clear();
  ++cleared;
  nodes = ways = 0;
  foreseen_wrongly = true;
}

}  // namespace shim::trace
