#include "trace/foreseen.h"

#include <algorithm>
#include <utility>

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
    return of || s.tree().backend;
  };
  const char* why = nullptr;
  Foreseen f;
  f.held = node_of(s, op, args, n, produced, &why, wanted);
  if (!f.held) return {};
  given_of(*f.held, args, given);
  f.node = f.held.get();
  if (!of) return s.add(std::exchange(f.held, nullptr)), f;
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

std::optional<std::vector<Tensor>> StandIns::with_memory(const std::vector<Tensor>& results) const {
  std::vector<Tensor> all;
  std::vector<std::pair<const Storage*, Ref<Storage>>> storages;
  for (const Tensor& m : results) {
    if (!m || !m->device().is_meta()) return {};
    const Storage* of = m->storage().get();
    if (std::ranges::any_of(made_, [&](const Tensor& t) { return t->storage().get() == of; })) return {};
    auto known = std::ranges::find(storages, of, &std::pair<const Storage*, Ref<Storage>>::first);
    if (known == storages.end()) known = storages.insert(known, {of, Storage::pending(of->nbytes(), device())});
    TensorSpec spec = TensorSpec::of(*m);
    spec.device = device();
    all.push_back(spec.over(known->second));
  }
  return all;
}

}  // namespace shim::trace
