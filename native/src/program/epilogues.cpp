// Activations of linear layers become part of the product, where its library or our kernel has them.
#include <algorithm>

#include "program/program.h"

namespace shim::program {
namespace {

constexpr std::string_view kRelu = "relu";  // what such a layer's operator calls it too
bool is_tanh_gelu(const Step& step) {
  auto* kind = step.op->schema.name == "gelu" ? std::get_if<std::string>(&step.args.back().is) : nullptr;
  return kind && *kind == "tanh";
}

// The activation that the epilogue computes; null: none. The exact gelu is a pass of its own there too, which a group does as well.
const char* epilogue_of(const Step& step) {
  if (step.apart || step.op->schema.ns != "aten" || step.results.size() != 1) return nullptr;
  const Operator& op = step.op->inplace && step.op->functional ? *step.op->functional : *step.op;
  if (op.schema.name == kRelu) return kRelu.data();
  return is_tanh_gelu(step) ? "gelu_tanh" : nullptr;
}

// The one step after the `at`-th that touches its result; the end: there are others, or it outlives the program.
size_t only_reader(const Steps& s, size_t at) {
  const int32_t result = s.steps[at].results[0].storage;
  const StorageSlot& slot = s.storages[size_t(result)];
  size_t reader = s.steps.size();
  for (size_t i = 0; i < s.steps.size(); ++i) {
    if (i == at || !(reads(s.steps[i], result) || changes(s.steps[i], result))) continue;
    if (i < at || reader != s.steps.size()) return s.steps.size();
    reader = i;
  }
  const bool in_place =
      reader < s.steps.size() && !s.steps[reader].results.empty() && s.steps[reader].results[0].storage == result;
  return slot.origin == StorageSlot::made && (!slot.outlives || in_place) ? reader : s.steps.size();
}

bool is_linear(const Step& step) {
  return !step.apart && step.op->schema.ns == "aten" && step.op->schema.name == "linear" && step.results.size() == 1 &&
         step.results[0].device.is_cuda() && is_floating(step.results[0].dtype);
}

}  // namespace

void join_epilogues(Steps& s) {
  Operator* fused = find_operator("shim::fused_linear", "");
  for (size_t i = 0; fused && i < s.steps.size(); ++i) {
    if (!is_linear(s.steps[i])) continue;
    const size_t j = only_reader(s, i);
    if (j == s.steps.size()) continue;
    const char* activation = epilogue_of(s.steps[j]);
    auto* read = activation ? std::get_if<TensorRef>(&s.steps[j].args[0].is) : nullptr;
    if (!read || !(*read == s.steps[i].results[0]) || s.steps[j].results[0].sizes != read->sizes) continue;
    bool stays = true;  // what the product reads is the same where the activation stands
    for (size_t k = i + 1; k < j; ++k)
      for (const Value& v : s.steps[i].args)
        each_tensor(v, [&](const TensorRef& r) { stays = stays && !changes(s.steps[k], r.storage); });
    if (!stays) continue;
    const List& a = s.steps[i].args;
    Step joined{
        fused, {a[0], a[1], a[2], Value{std::string(activation)}, Value{false}}, s.steps[j].results, s.steps[j].line};
    joined.results.emplace_back();  // what a gradient would need: nothing, of no storage
    s.steps[j] = std::move(joined);
    s.steps.erase(s.steps.begin() + int64_t(i--));
  }
}

}  // namespace shim::program
