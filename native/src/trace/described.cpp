#include "trace/described.h"

#include <algorithm>

namespace shim::trace {
namespace {

Value number(int64_t i) { return {Value::integer, i}; }

Fact reasons_of(const std::map<Because, size_t>& reasons) {
  std::map<std::pair<std::string, std::string>, size_t> times;  // one text may stand in two places
  for (const auto& [b, n] : reasons) times[{b.op ? b.op->full_name() : "torch.compile", b.why}] += n;
  Fact::List all;
  for (const auto& [what, n] : times) all.push_back(Fact::Tuple{{Fact::Tuple{{what.first, what.second}}, n}});
  return all;
}

}  // namespace

Value Described::tuple(std::initializer_list<Value> items) {
  Value* to = room_.take(items.size());
  std::ranges::copy(items, to);
  return tuple_value({to, items.size()});
}

template <class Items, class F> Value Described::list(const Items& items, F&& f) {
  Value* const to = room_.take(items.size());
  std::ranges::transform(items, to, f);
  return {Value::tensors, uint32_t(items.size()), to};
}

Value Described::dims(IntArrayRef d) {
  Value all = list(d, number);
  all.tag = Value::list;
  return all;
}

Value Described::tensor(const TensorSpec& t) {
  return tuple({Value("tensor"), number(t.slot), dims(t.sizes()), dims(t.strides()), number(t.offset),
      {Value::dtype, int64_t(t.dtype)}, Value(t.device), number(t.fresh), number(t.conj), number(t.neg)});
}

Value Described::argument(const TreeNode& node, const ArgumentSpec& a) {
  size_t at = a.first;
  switch (a.kind) {
    case ArgumentSpec::tensor: return tensor(node.inputs[at]);
    case ArgumentSpec::tensors:
      return list(a.given, [&](bool given) { return given ? tensor(node.inputs[at++]) : Value(); });
    case ArgumentSpec::parameter: return tuple({Value("number")});
    default: return tuple({Value("constant"), constants_.of(a, nullptr)});
  }
}

Value Described::node(const TreeNode& n) {
  const Value given = list(n.arguments, [&](const ArgumentSpec& a) { return argument(n, a); });
  const Value made = list(n.results, [&](const TensorSpec& t) { return tensor(t); });
  return tuple({Value(names_.emplace_back(n.op->full_name())), given, made, Value(n.file), number(n.line)});
}

Value Described::nodes(std::span<const Session::Deferred> path) {
  return list(path, [&](const Session::Deferred& d) { return node(*d.node); });
}

Value Described::slots(const std::vector<TensorSpec>& specs) {
  return list(specs, [](const TensorSpec& t) { return number(t.slot); });
}

Value Described::ways(const Trees& trees) {
  std::vector<const TreeNode*> ends;
  for (const auto& [modes, tree] : trees.by_modes) {
    std::vector<const TreeNode*> open{&tree->root};
    while (!open.empty()) {
      const TreeNode* at = open.back();
      open.pop_back();
      for (const auto& next : at->next) open.push_back(next.get());
      if (at->next.empty() && at != &tree->root) ends.push_back(at);
    }
  }
  return list(ends, [&](const TreeNode* at) {
    std::vector<const TreeNode*> way;
    for (; at->op; at = at->before) way.push_back(at);
    std::ranges::reverse(way);
    return list(way, [&](const TreeNode* n) { return node(*n); });
  });
}

Fact report(const Session& s) {
  std::map<Because, size_t> reasons;
  for (const Because& b : s.reasons) ++reasons[b];
  Fact::List breaks;
  for (const Break& b : s.breaks) breaks.push_back(Fact::Tuple{{b.reason, b.file, b.line, b.operators}});
  return Fact::Named{{"deferred", s.deferred}, {"learned", s.learned}, {"resized", s.resized}, {"at_once", s.at_once},
      {"runs", s.flushes}, {"programs", s.programs}, {"backwards", s.backwards}, {"breaks", std::move(breaks)},
      {"reasons", reasons_of(reasons)}, {"left", int(!s.following())}};
}

Fact totals() {
  Totals t = std::exchange(told, {});
  if (t.replayed) t.graphs["replayed"] = t.replayed;
  Fact::Named graphs;
  for (const auto& [how, times] : t.graphs) graphs.emplace_back(how, times);
  return Fact::Tuple{
      {Fact::Named{{"calls", t.calls}, {"whole", t.whole}, {"deferred", t.deferred}, {"at_once", t.at_once},
           {"runs", t.runs}, {"programs", t.programs}, {"backwards", t.backwards}},
          reasons_of(t.reasons), std::move(graphs)}};
}

}  // namespace shim::trace
