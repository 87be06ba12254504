#include "ops/operator.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "core/error.h"

namespace shim {
namespace {

struct Table {
  std::unordered_map<std::string, std::vector<Operator*>> by_name, public_by_name;
};

Table& table() {
  static Table* t = new Table;  // never destroyed: operators are used until the interpreter is gone
  return *t;
}

std::unordered_map<std::string, std::vector<TypedKernel>>& kernels() {
  static auto* m = new std::unordered_map<std::string, std::vector<TypedKernel>>;
  return *m;
}

}  // namespace

void (*before_lookup)() = nullptr;
bool (*define_waiting)() = nullptr;

std::string Operator::full_name() const {
  return schema.qualified() + (schema.overload.empty() ? "" : "." + schema.overload);
}

void Operator::read_schema() {
  positional = required = out_count = 0;
  device_slot = pin_slot = -1;
  bool dtype = false, own_input = false;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const Argument& a = schema.args[i];
    if (!a.kwarg_only) {
      ++positional;
      required += !a.fallback;
    }
    out_count += a.is_out;
    if (a.type.base == ArgType::Tensor && a.type.list) has_tensor_list = true;
    own_input |= a.type.base == ArgType::Tensor && !a.is_out;
    dtype |= a.type.base == ArgType::ScalarType;
    if (a.name == "pin_memory") pin_slot = int(i);
    if (a.type.base == ArgType::Device && a.name == "device") device_slot = int(i);
  }
  factory = dtype && pin_slot >= 0 && device_slot >= 0;
  // What is made of tensors is made where they are: sparse tensors of their entries.
  if (!factory || own_input) device_slot = -1;
}

void Operator::decline(const char* why) {
  if (!why || !*why) return;
  for (auto& [known, times] : declines)
    if (known == why || !std::strcmp(known, why)) {
      ++times;
      return;
    }
  declines.emplace_back(why, 1);
}

void add_kernel(const char* name, const TypedKernel& kernel) { kernels()[name].push_back(kernel); }

bool has_native(const char* name) { return kernels().contains(name); }

bool has_cuda_kernel(const std::string& name) {
  const auto it = kernels().find(name);
  return it != kernels().end() && std::ranges::any_of(it->second, [](const TypedKernel& k) { return k.on != On::cpu; });
}

void find_natives(const std::string& name, Operator& into) {
  auto it = kernels().find(name);
  if (it == kernels().end()) return;
  bool fitted = false;
  for (const TypedKernel& kernel : it->second) {
    KernelCall& place = kernel.on == On::cpu ? into.native_cpu : into.native;
    const auto serves = [](const Argument& a, FitsArgument fits) { return fits(a); };
    if (!std::ranges::equal(into.schema.args, kernel.fits, serves) || (fitted |= place != nullptr, place)) continue;
    place = kernel.call;
    (kernel.on == On::cpu ? into.native_cpu_data : into.native_data) = const_cast<void*>(kernel.data);
    fitted = true;
  }
  CHECK(Kind::Runtime, fitted, "no kernel of the name ", name, " takes the arguments of ", into.schema.text());
}

const std::vector<Operator*>& overloads(const std::string& qualified_name) {
  if (before_lookup) before_lookup();
  // The entry is made if absent, so that a callable can hold on to it and see later definitions.
  return table().by_name[qualified_name];
}

const std::vector<Operator*>& public_overloads(const std::string& qualified_name) {
  if (before_lookup) before_lookup();
  return table().public_by_name[qualified_name];
}

Operator* find_operator(const std::string& qualified_name, const std::string& overload) {
  if (before_lookup) before_lookup();
  do {
    auto it = table().by_name.find(qualified_name);
    if (it == table().by_name.end()) continue;
    for (Operator* op : it->second)
      if (op->schema.overload == overload) return op;
  } while (define_waiting && qualified_name.starts_with("aten::") && define_waiting());
  return nullptr;
}

Operator& operator_named(std::string_view qualified_name, std::string_view overload) {
  Operator* op = find_operator(std::string(qualified_name), std::string(overload));
  CHECK(Kind::Runtime, op, "operator ", qualified_name, overload.empty() ? "" : ".", overload, " does not exist");
  return *op;
}

Operator* add_operator(std::unique_ptr<Operator> op) {
  const std::string name = op->schema.qualified();
  CHECK(Kind::Runtime, !find_operator(name, op->schema.overload), "Tried to register an operator (", op->schema.text(),
      ") with the same name and overload name multiple times.");
  Operator* owned = op.release();
  table().by_name[name].push_back(owned);
  if (!owned->ops_only) table().public_by_name[name].push_back(owned);
  return owned;
}

void remove_operator(Operator* op) {
  auto it = table().by_name.find(op->schema.qualified());
  if (it == table().by_name.end()) return;
  std::erase(it->second, op);
  std::erase(table().public_by_name[it->first], op);
}

std::vector<std::string> operator_names(const std::string& ns) {
  if (before_lookup) before_lookup();
  if (define_waiting && ns == "aten") define_waiting();
  std::set<std::string> names;
  for (auto& [name, ops] : table().by_name)
    if (!ops.empty() && name.compare(0, ns.size() + 2, ns + "::") == 0) names.insert(name.substr(ns.size() + 2));
  return {names.begin(), names.end()};
}

std::vector<std::string> operator_namespaces() {
  if (before_lookup) before_lookup();
  std::set<std::string> names;
  for (auto& [name, ops] : table().by_name)
    if (!ops.empty()) names.insert(name.substr(0, name.find("::")));
  return {names.begin(), names.end()};
}

namespace {

template <class F> Fact report_of_operators(F&& told_of) {  // nothing of an operator of which nothing is told
  Fact::Named all;
  for (const std::string& ns : operator_namespaces())
    for (const std::string& name : operator_names(ns))
      for (const Operator* op : overloads(ns + "::" + name))
        if (std::optional<Fact> told = told_of(*op)) all.emplace_back(op->full_name(), std::move(*told));
  return all;
}

}  // namespace

Fact operator_counts() {
  return report_of_operators([](const Operator& op) -> std::optional<Fact> {
    if (!op.calls_body && !op.calls_native) return {};
    return Fact::Tuple{{op.calls_body, op.calls_native}};
  });
}

Fact operator_declines() {
  return report_of_operators([](const Operator& op) -> std::optional<Fact> {
    Fact::Named reasons;
    for (const auto& [reason, times] : op.declines) reasons.emplace_back(reason, times);
    return reasons.empty() ? std::nullopt : std::optional<Fact>(std::move(reasons));
  });
}

}  // namespace shim
