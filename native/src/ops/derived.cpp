#include "ops/derived.h"

#include "core/error.h"

namespace shim {
namespace {

const Alias written(char name) { return Alias{{std::string(1, name)}, {std::string(1, name)}, true, false}; }

// "out" belongs to the main overload, which is not always the unnamed or the tensors' one.
std::string out_overload(const Operator& f) {
  const std::string& overload = f.schema.overload;
  const std::string name = f.traits->out_overload                     ? f.traits->out_overload
                           : overload.empty() || overload == "Tensor" ? "out"
                                                                      : overload + "_out";
  if (!find_operator(f.schema.qualified(), name)) return name;
  return overload.empty() ? "default_out" : overload + "_out";
}

}  // namespace

void take_over(Operator& o, const Operator& f) {
  o.schema = f.schema;
  o.traits = f.traits;
  o.alias_of = f.alias_of;
  o.kind = f.kind;
  o.recorded = f.recorded;
  o.formulas = f.formulas;
  o.fused = f.fused;
  o.differentiable_outputs = f.differentiable_outputs;
  o.pointwise = f.pointwise;
}

void make_inplace(Operator& o, Operator& f) {
  o.schema.name += "_";
  o.schema.args[0].alias = written('a');
  Return r;
  r.type.base = ArgType::Tensor;
  r.alias = written('a');
  o.schema.returns = {r};
  o.inplace = true;
  o.functional = &f;
}

void make_out(Operator& o, Operator& f, const std::vector<std::string>& names) {
  o.schema.overload = out_overload(f);
  for (size_t i = 0; i < f.schema.returns.size(); ++i) {
    Return& r = o.schema.returns[i];
    r.alias = written(char('a' + i));
    Argument a;
    a.type.base = ArgType::Tensor;
    a.type.list = r.type.list;
    a.name = names[i];
    a.alias = r.alias;
    a.kwarg_only = a.is_out = true;
    o.schema.args.push_back(a);
  }
  o.out = true;
  o.functional = &f;
}

void make_by_schema(Operator& o, Operator& f, Schema schema) {
  o.schema = std::move(schema);
  o.ops_only = true;
  auto& args = o.schema.args;
  const size_t given = f.schema.args.size();
  CHECK(Kind::Runtime, args.size() >= given, o.schema.text(), ": fewer arguments than ", f.schema.text());
  if (args.size() > given) {
    o.out = true;
    o.functional = &f;
    for (size_t i = given; i < args.size(); ++i) args[i].is_out = args[i].kwarg_only = true;
  } else if (!f.inplace && !args.empty() && args[0].alias && args[0].alias->write) {
    o.inplace = true;
    o.functional = &f;
  } else {
    o.inplace = f.inplace;
    o.functional = f.functional == &f ? nullptr : f.functional;
    o.native = f.native;
    o.native_data = f.native_data;
    o.native_cpu = f.native_cpu;
    o.native_cpu_data = f.native_cpu_data;
    o.dispatch_leaf = f.dispatch_leaf;
  }
}

std::vector<bool> allow_numbers(Operator& op, Numbers numbers) {
  std::vector<bool> allowed;
  for (const Argument& a : op.schema.args)
    allowed.push_back(numbers != Numbers::none && a.type.base == ArgType::Tensor && !a.type.list && !a.alias);
  if (numbers == Numbers::not_first && !allowed.empty()) allowed[0] = false;
  op.wants_a_tensor = numbers == Numbers::not_all;
  op.number_overloads = numbers == Numbers::not_first || numbers == Numbers::not_all;
  return allowed;
}

}  // namespace shim
