// Reads the names of formulas' parameters: what each stands for, and what nodes of the operator are called.
#include "autograd/formula_plan.h"

#include <cctype>
#include <unordered_map>

#include "core/error.h"
#include "core/order.h"

namespace shim {
namespace {

// As PyTorch names nodes: a letter is large after a line, and after a digit (Log1PBackward0).
std::string camel(const std::string& name) {
  std::string out;
  bool up = true;
  for (char c : name) {
    if (c == '_') {
      up = true;
      continue;
    }
    out += up ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    up = std::isdigit(static_cast<unsigned char>(c));
  }
  return out;
}

ParameterSource source_of(const Operator& op, const std::string& p) {
  auto argument = [&](const std::string& n) {
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == n) return int(i);
    return -1;
  };
  if (int i = argument(p); i >= 0) return {ParameterSource::Argument, i};
  if (p == "wanted") return {ParameterSource::Wanted, 0};
  if (p == "g") return {ParameterSource::Grad, 0};
  if (p.size() > 1 && p[0] == 'g' && std::isdigit(static_cast<unsigned char>(p[1])))
    return {ParameterSource::Grad, std::stoi(p.substr(1))};
  if (p.starts_with("result")) return {ParameterSource::Result, p.size() > 6 ? std::stoi(p.substr(6)) : 0};
  struct {
    const char* suffix;
    ParameterSource::Kind kind;
  } suffixes[] = {{"_shape", ParameterSource::Shape}, {"_dtype", ParameterSource::DTypeOf},
      {"_device", ParameterSource::DeviceOf}, {"_strides", ParameterSource::Strides},
      {"_start", ParameterSource::Offset}};
  for (auto& s : suffixes)
    if (p.ends_with(s.suffix))
      if (int i = argument(p.substr(0, p.size() - std::string(s.suffix).size())); i >= 0) return {s.kind, i};
  fail(Kind::Type, op.schema.qualified(), ": gradient formula names '", p, "'");
}

PlannedFormula planned(const Operator& op, const Formula& f) {
  PlannedFormula p{&f, {}, {}};
  for (auto& name : f.inputs)
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == name) p.inputs.push_back(int(i));
  for (auto& name : f.parameters) p.sources.push_back(source_of(op, name));
  return p;
}

std::unordered_map<Operator*, FormulaPlan>& plans() {
  static auto* all = new std::unordered_map<Operator*, FormulaPlan>();
  return *all;
}

}  // namespace

FormulaPlan& plan_of(Operator& op) {
  auto [it, fresh] = plans().try_emplace(&op);
  if (!fresh) return it->second;
  FormulaPlan& plan = it->second;
  size_t number = 0;
  auto& all = overloads(op.schema.qualified());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == &op) number = i;
  const std::string& own = op.schema.name;
  if (own == "copy" || own == "copy_")
    plan.name = "torch::autograd::CopyBackwards";
  else
    plan.name = camel(op.traits->part_of ? op.traits->part_of
                      : op.alias_of      ? op.alias_of
                                         : own) +
                "Backward" + std::to_string(number);
  for (auto& f : op.formulas) plan.single.push_back(planned(op, f));
  // PyTorch's order of the gradients: by the inputs' names.
  sort_few(plan.single.data(), plan.single.data() + plan.single.size(),
      [](auto& a, auto& b) { return a.formula->inputs < b.formula->inputs; });
  for (auto& f : op.fused) plan.fused.push_back(planned(op, f));
  for (auto& f : op.shown) plan.shown.push_back(planned(op, f));
  plan.has_edges.resize(op.schema.args.size());
  for (auto* list : {&plan.single, &plan.fused, &plan.shown})
    for (auto& f : *list)
      for (int i : f.inputs)
        plan.has_edges[size_t(i)] =
            op.schema.args[size_t(i)].type.base == ArgType::Tensor && !op.schema.args[size_t(i)].type.list;
  plan.linear = op.schema.qualified() == "aten::linear";
  plan.activated = op.schema.qualified() == "shim::fused_linear";
  plan.product = op.schema.qualified() == "aten::mm" || op.schema.qualified() == "aten::bmm";
  plan.list_result = op.schema.returns.size() == 1 && op.schema.returns[0].type.list;
  return plan;
}

void show_formulas(Operator& op, std::vector<Formula> formulas, int outputs) {
  if (!op.shown.empty()) return;
  op.shown = std::move(formulas);
  op.shown_outputs = outputs;
  if (auto it = plans().find(&op); it != plans().end())
    for (auto& f : op.shown) it->second.shown.push_back(planned(op, f));
}

}  // namespace shim
