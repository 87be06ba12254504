// Tensors that are joined of equal pieces: each piece is written to its place by the group that makes it.
#include <algorithm>

#include "program/program.h"

namespace shim::program {
namespace {

constexpr size_t kMostPieces = 4;

const List* pieces_of(const Step& step) {
  if (step.apart || step.op->schema.ns != "aten" || step.op->schema.name != "cat" || step.op->out ||
      step.args.size() != 2)
    return nullptr;
  return std::get_if<List>(&step.args[0].is);
}

// The steps that write the pieces; none: the operator does it as well.
std::vector<Step> written_pieces(const Step& step) {
  const List* pieces = pieces_of(step);
  const auto* dim = std::get_if<int64_t>(&step.args.back().is);
  if (!pieces || !dim || pieces->size() < 2 || pieces->size() > kMostPieces) return {};
  const TensorRef& whole = step.results[0];
  const size_t d = size_t(*dim < 0 ? *dim + int64_t(whole.sizes.size()) : *dim);
  static Operator* copy = find_operator("aten::copy_", "");
  std::vector<Step> steps;
  TensorRef place = whole;
  for (const Value& v : *pieces) {
    const auto* piece = std::get_if<TensorRef>(&v.is);
    if (!piece || piece->dtype != whole.dtype || piece->sizes.size() != whole.sizes.size()) return {};
    if (!steps.empty() && piece->sizes != place.sizes) return {};
    place.sizes = piece->sizes;
    steps.push_back({copy, {{place}, {*piece}, {false}}, {place}, step.line});
    place.offset += piece->sizes[d] * whole.strides[d];
  }
  return steps;
}

// Whether a group makes one of them, so that a pass over memory is saved.
bool made_by_groups(const Steps& s, size_t before, const std::vector<Step>& copies) {
  return std::ranges::any_of(copies, [&](const Step& copy) {
    const int32_t storage = std::get<TensorRef>(copy.args[1].is).storage;
    for (size_t i = before; i-- > 0;) {
      const Step& step = s.steps[i];
      if (step.results.empty() || step.results[0].storage != storage) continue;
      Group trial;
      return begin_group(trial, s, step);
    }
    return false;
  });
}

bool all_in_groups(const Steps& s, const std::vector<Step>& copies) {
  return std::ranges::all_of(copies, [&](const Step& copy) {
    Group trial;
    return begin_group(trial, s, copy);
  });
}

}  // namespace

void take_joins_apart(Steps& s) {
  std::vector<Step> steps;
  for (size_t i = 0; i < s.steps.size(); ++i) {
    std::vector<Step> copies = written_pieces(s.steps[i]);
    const bool apart = !copies.empty() && made_by_groups(s, i, copies) && all_in_groups(s, copies);
    if (!apart) copies = {s.steps[i]};
    std::ranges::move(copies, std::back_inserter(steps));
  }
  s.steps = std::move(steps);
}

}  // namespace shim::program
