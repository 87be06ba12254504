#include "program/group.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "program/expression.h"

namespace shim::program {
namespace {

bool broadcasts(IntArrayRef sizes, IntArrayRef shape) {
  if (sizes.size() > shape.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1 && sizes[i] != shape[shape.size() - sizes.size() + i]) return false;
  return true;
}

// Stride and size of the dims that have more than one element, those that lie closest first.
std::vector<std::pair<int64_t, int64_t>> walked(const TensorRef& r) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < r.sizes.size(); ++d)
    if (r.sizes[d] != 1) dims.emplace_back(r.strides[d], r.sizes[d]);
  std::ranges::sort(dims);
  return dims;
}

// Whether no two elements share memory.
bool separate(const TensorRef& r) {
  int64_t reach = 0;
  for (const auto& [stride, size] : walked(r)) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

bool same_place(const TensorRef& a, const TensorRef& b) {
  if (a.dtype != b.dtype || a.offset != b.offset || a.sizes != b.sizes) return false;
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

// Whether no element of the one is an element of the other. Both have their sizes and strides in common, and each lies apart.
bool apart(const TensorRef& a, const TensorRef& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes || a.strides != b.strides || !separate(a)) return false;
  const auto dims = walked(a);
  // Whether steps along the first n dims lead so far; those along fewer of them together are shorter than one along the last.
  const auto reached = [&](const auto& self, int64_t distance, size_t n_dims) -> bool {
    if (n_dims == 0) return distance == 0;
    const auto [stride, size] = dims[n_dims - 1];
    const int64_t down = distance / stride;
    for (int64_t n = down - 1; n <= down + 1; ++n)
      if (std::abs(n) < size && self(self, distance - n * stride, n_dims - 1)) return true;
    return false;
  };
  return !reached(reached, b.offset - a.offset, dims.size());
}

}  // namespace

bool ordinary(DType t) {
  return !is_complex(t) && !is_quantized(t) && itemsize(t) && !(is_floating(t) && itemsize(t) == 1);
}

void refuse() { throw Refused{}; }

namespace {

// Without the dims that were expanded: operators broadcast them again.
TensorRef unexpanded(TensorRef r) {
  for (size_t d = 0; d < r.sizes.size(); ++d)
    if (r.strides[d] == 0) r.sizes[d] = std::min<int64_t>(r.sizes[d], 1);
  return r;
}

}  // namespace

Expression::Value Expression::read(const TensorRef& whole) {
  const TensorRef ref = unexpanded(whole);
  if (ref.device != group.device || ref.is_conj || ref.is_neg || !ordinary(ref.dtype)) refuse();
  if (!broadcasts(ref.sizes, group.shape)) refuse();
  for (size_t i = group.stores.size(); i-- > 0;) {
    const Store& s = group.stores[i];
    if (s.ref.storage != ref.storage || apart(s.ref, ref)) continue;
    if (!same_place(s.ref, ref)) refuse();
    const bool rounds = steps.storages[size_t(ref.storage)].rounded && s.from != ref.dtype;
    return rounds ? rounded({s.value, s.from}, ref.dtype) : Value{s.value, s.from};
  }
  for (size_t i = 0; i < group.loads.size(); ++i)
    if (group.loads[i].ref.storage == ref.storage && same_place(group.loads[i].ref, ref))
      return {{Source::load, uint16_t(i)}, group.loads[i].as};
  if (group.loads.size() == kMostLoads) refuse();
  group.loads.push_back({ref, compute_dtype(ref.dtype)});
  return {{Source::load, uint16_t(group.loads.size() - 1)}, group.loads.back().as};
}

Source Expression::as(Value v, DType in) { return v.dtype == in ? v.source : convert(v, in, DType::undefined).source; }

Expression::Value Expression::convert(Value v, DType to, DType narrow) {
  const Node n{"copy", nullptr, v.dtype, to, narrow, 1, {v.source}};
  return put(n);
}

// What a narrower dtype keeps of a value.
Expression::Value Expression::rounded(Value v, DType narrow) {
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    const Node& n = group.nodes[i];
    if (!n.cpu && !n.row && n.narrow == narrow && n.result == v.dtype && n.args[0] == v.source)
      return {{Source::node, uint16_t(i)}, v.dtype};
  }
  return convert(v, v.dtype, narrow);
}

Source Expression::number(const program::Value& v, DType in, DType rounded) {
  Number n;
  n.in = in;
  n.rounded = rounded;
  if (auto* p = std::get_if<Parameter>(&v.is)) {
    n.parameter = int32_t(p->slot);
    n.value = steps.parameters.at(p->slot);
  } else if (!scalar_of(v, &n.value)) {
    refuse();
  }
  if (n.value.type == Scalar::Complex || n.value.big) refuse();
  if (n.value.type == Scalar::Float && is_integral(in, true)) refuse();
  if (n.parameter >= 0 && is_integral(in, true) && in != DType::i64) refuse();  // another number might not fit
  return put_number(n);
}

Source Expression::put_number(const Number& n) {
  if (group.numbers.size() == kMostNumbers) refuse();
  group.numbers.push_back(n);
  return {Source::number, uint16_t(group.numbers.size() - 1)};
}

Expression::Value Expression::put(const Node& n) {
  if (group.nodes.size() == kMostNodes) refuse();
  if (n.cpu && group.device.is_cuda() && !known_on_cuda(n.op, n.count)) refuse();
  group.nodes.push_back(n);
  return {{Source::node, uint16_t(group.nodes.size() - 1)}, n.result};
}

void Expression::write(const TensorRef& ref, Value v) {
  if (ref.device != group.device || ref.is_conj || ref.is_neg || ref.sizes != group.shape || !ordinary(ref.dtype) ||
      !separate(ref))
    refuse();
  for (const Load& l : group.loads)
    if (l.ref.storage == ref.storage && !same_place(l.ref, ref)) refuse();
  const StorageSlot& slot = steps.storages[size_t(ref.storage)];
  if (slot.origin != StorageSlot::made) group.changed.push_back(ref.storage);
  if (v.dtype != compute_dtype(ref.dtype)) v = convert(v, compute_dtype(ref.dtype), DType::undefined);
  for (Store& s : group.stores) {
    if (s.ref.storage != ref.storage || apart(s.ref, ref)) continue;
    if (!same_place(s.ref, ref)) refuse();
    s = {ref, v.source, v.dtype};
    return;
  }
  group.stores.push_back({ref, v.source, v.dtype});
}

Dims row_shape(const Group& g) {
  Dims shape = g.shape;
  shape[shape.size() - 1] = 1;
  return shape;
}

namespace {

// But for empty ones that nobody looks at.
bool gives_one_tensor(const Steps& all, const Step& step) {
  for (size_t i = 1; i < step.results.size(); ++i) {
    const TensorRef& r = step.results[i];
    if (r.numel() || r.storage < 0 || all.storages[size_t(r.storage)].outlives) return false;
    if (std::ranges::any_of(all.steps, [&](const Step& other) { return reads(other, r.storage); })) return false;
  }
  return !step.results.empty();
}

bool lower_into(Group& group, const Steps& steps, const Step& step) {
  const Dims& sizes = step.results[0].sizes;
  if (sizes == group.shape) return Expression{group, steps}.lower(step);
  if (add_row_reduction(group, steps, step)) return true;
  if (!group.rows || sizes != row_shape(group)) return false;
  const size_t before = group.nodes.size();
  const Dims whole = std::exchange(group.shape, sizes);
  if (!Expression{group, steps}.lower(step)) return false;
  group.shape = whole;
  for (size_t i = before; i < group.nodes.size(); ++i) group.nodes[i].of_row = true;
  return true;
}

}  // namespace

bool add_step(Group& group, const Steps& steps, const Step& step) {
  if (step.apart || !gives_one_tensor(steps, step) || step.op->out) return false;
  const Group before = group;
  try {
    if (lower_into(group, steps, step)) {
      group.names.push_back(step.op->schema.name);
      return true;
    }
  } catch (const Refused&) {}
  group = before;
  return false;
}

std::optional<Group> group_of(const Steps& all, std::span<const size_t> steps) {
  Group made;
  for (size_t k = 0; k < steps.size(); ++k) {
    const Step& step = all.steps[steps[k]];
    if (k ? !add_step(made, all, step) : !begin_group(made, all, step)) return {};
  }
  made.steps.assign(steps.begin(), steps.end());
  return made;
}

bool begin_group(Group& group, const Steps& steps, const Step& step) {
  if (!gives_one_tensor(steps, step)) return false;
  const TensorRef& r = step.results[0];
  if (!r.device.is_cpu() && !r.device.is_cuda()) return false;
  group = {};
  group.device = r.device;
  const TensorRef* rows = reduced_rows(step);
  group.shape = rows ? rows->sizes : r.sizes;
  return add_step(group, steps, step);
}

namespace {

// Gives what is used new places, in order.
template <class T> std::vector<uint16_t> keep(std::vector<T>& all, const std::vector<bool>& used) {
  std::vector<uint16_t> place(all.size());
  std::vector<T> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    place[i] = uint16_t(kept.size());
    if (used[i]) kept.push_back(std::move(all[i]));
  }
  all = std::move(kept);
  return place;
}

}  // namespace

std::array<std::vector<bool>, 3> used_parts(const Group& g, const std::vector<bool>& needed) {
  std::array<std::vector<bool>, 3> used = {
      std::vector<bool>(g.nodes.size()), std::vector<bool>(g.loads.size()), std::vector<bool>(g.numbers.size())};
  for (const Store& s : g.stores)
    if (needed[size_t(s.ref.storage)]) used[s.value.kind][s.value.index] = true;
  for (size_t n = g.nodes.size(); n-- > 0;)
    if (used[Source::node][n])
      for (int k = 0; k < g.nodes[n].count; ++k) used[g.nodes[n].args[k].kind][g.nodes[n].args[k].index] = true;
  return used;
}

void remove_unused(Group& g, const std::vector<bool>& needed) {
  std::erase_if(g.stores, [&](const Store& s) { return !needed[size_t(s.ref.storage)]; });
  const auto used = used_parts(g, needed);
  const std::vector<uint16_t> places[3] = {
      keep(g.nodes, used[Source::node]), keep(g.loads, used[Source::load]), keep(g.numbers, used[Source::number])};
  const auto move = [&](Source& s) { s.index = places[s.kind][s.index]; };
  for (Store& s : g.stores) move(s.value);
  for (Node& n : g.nodes)
    for (int k = 0; k < n.count; ++k) move(n.args[k]);
}

}  // namespace shim::program
