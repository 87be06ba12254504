#include "ops/derived.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "ops/value.h"

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

// What both have: schema, formulas, kind.
std::unique_ptr<Operator> copy_of(const Operator& f) {
  std::unique_ptr<Operator> made = f.sharing();
  Operator& o = *made;
  o.schema = f.schema;
  o.traits = f.traits;
  o.alias_of = f.alias_of;
  o.kind = f.kind;
  o.recorded = f.recorded;
  o.formulas = f.formulas;
  o.fused = f.fused;
  o.differentiable_outputs = f.differentiable_outputs;
  o.pointwise = f.pointwise;
  return made;
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

std::string out_name(const Operator& f, size_t i) {
  const Return& r = f.schema.returns[i];
  return f.schema.returns.size() == 1 ? "out" : r.name.empty() ? "out" + std::to_string(i) : r.name;
}

void make_out(Operator& o, Operator& f, const std::vector<std::string>& names) {
  o.schema.overload = out_overload(f);
  for (size_t i = 0; i < f.schema.returns.size(); ++i) {
    Return& r = o.schema.returns[i];
    r.alias = written(char('a' + i));
    Argument a;
    a.type.base = ArgType::Tensor;
    a.type.list = r.type.list;
    a.name = names.empty() ? out_name(f, i) : names.at(i);
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

// Which tensors numbers may stand for: one flag an argument, and the operator's own flags.
std::vector<bool> allow_numbers(Operator& op, Numbers numbers) {
  std::vector<bool> allowed;
  for (const Argument& a : op.schema.args)
    allowed.push_back(numbers != Numbers::none && a.type.base == ArgType::Tensor && !a.type.list && !a.alias);
  if (numbers == Numbers::not_first && !allowed.empty()) allowed[0] = false;
  op.wants_a_tensor = numbers == Numbers::not_all;
  op.number_overloads = numbers == Numbers::not_first || numbers == Numbers::not_all;
  return allowed;
}

Operator& add(std::unique_ptr<Operator> op, Numbers numbers) {
  op->prepare(allow_numbers(*op, numbers));
  return *add_operator(std::move(op));
}

void add_inplace(Operator& f, const std::string& native) {
  std::unique_ptr<Operator> o = copy_of(f);
  make_inplace(*o, f);
  if (!native.empty()) find_natives(native + "_", *o);
  add(std::move(o), f.traits->numbers == Numbers::none ? Numbers::none : Numbers::any);  // the first is a tensor anyhow
}

void add_out(Operator& f, const Variants& v) {
  std::unique_ptr<Operator> o = copy_of(f);
  make_out(*o, f, v.out_names);
  if (!v.native.empty()) find_natives(v.native + "_out", *o);
  add(std::move(o), f.traits->numbers);
}

void add_with_variants(std::unique_ptr<Operator> base, const Variants& v, std::vector<std::string>& names) {
  if (!v.native.empty()) find_natives(v.native, *base);
  const Numbers numbers = base->traits->numbers;
  Operator& f = add(std::move(base), numbers);
  const auto& args = f.schema.args;
  if (f.kind == Operator::Kernel && !args.empty() && args[0].alias && args[0].alias->write) {
    f.inplace = true;  // fill_, zero_: the body gives the new value of self
    f.functional = &f;
  }
  const auto report = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  report(f.schema.name);
  if (v.inplace) add_inplace(f, v.native), report(f.schema.name + "_");
  if (v.out) add_out(f, v);
}

}  // namespace

std::vector<std::string> add_variants(std::unique_ptr<Operator> base, const Variants& v) {
  std::vector<std::string> names;
  const char* of = v.aliases.empty() ? nullptr : strdup(v.name.c_str());  // for ever, as the table
  for (const std::string& name : v.aliases) {
    std::unique_ptr<Operator> alias = copy_of(*base);
    alias->schema.name = name;
    alias->alias_of = of;
    add_with_variants(std::move(alias), v, names);
  }
  add_with_variants(std::move(base), v, names);
  return names;
}

void derive_operator(std::string_view schema, std::string_view of, std::string_view overload) {
  Operator& f = operator_named(of, overload);
  std::unique_ptr<Operator> o = copy_of(f);
  make_by_schema(*o, f, parse_schema(std::string(schema)));
  const bool same_numbers = o->schema.name == f.schema.name && !(f.inplace && f.functional != &f);
  const Numbers numbers = same_numbers ? o->traits->numbers : Numbers::none;
  Operator& made = add(std::move(o), numbers);
  if (f.functional == &f && made.inplace) made.functional = &made;
}

std::vector<std::string> listed_names(std::string_view list) {
  std::vector<std::string> names(1);
  for (char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  std::erase(names, "");
  return names;
}

std::vector<Formula> formulas_of_row(const Value& row) {
  const auto text = [](const Value& v) {
    CHECK(Kind::Type, v.tag == Value::text, "a formula's row has names as texts, not a ", v.type_name());
    return std::string_view(v.chars, v.size);
  };
  std::vector<Formula> all;
  for (const Value& v : std::span(row.items, row.size)) {
    CHECK(Kind::Type, v.tag == Value::list && v.size == 3, "a formula's row is (inputs, parameters, flat)");
    Formula& f = all.emplace_back();
    f.inputs = listed_names(text(v.items[0]));
    for (const Value& name : std::span(v.items[1].items, v.items[1].size)) f.parameters.emplace_back(text(name));
    f.flat = v.items[2].tag == Value::boolean && v.items[2].i;
  }
  return all;
}

void attach_formulas(std::vector<Formula>& waiting, const std::vector<Formula>& found, const Operator& op) {
  for (Formula& f : waiting) {
    const auto same = std::ranges::find(found, f.inputs, &Formula::inputs);
    CHECK(Kind::Runtime, same != found.end() && same->parameters == f.parameters, op.full_name(),
        ": not the formula that it was defined with");
    f.function = same->function;
  }
}

}  // namespace shim
