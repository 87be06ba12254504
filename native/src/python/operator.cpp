#include "python/operator.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/error.h"
#include "python/kernel_call.h"

namespace shim {
namespace {

struct Table {
  std::unordered_map<std::string, std::vector<Operator*>> by_name, public_by_name;
};

Table& table() {
  static Table* t = new Table;  // never destroyed: operators are used until the interpreter is gone
  return *t;
}

std::unordered_map<std::string, std::vector<TypedKernel>>& typed_kernels() {
  static auto* m = new std::unordered_map<std::string, std::vector<TypedKernel>>;
  return *m;
}

}  // namespace

void (*before_lookup)() = nullptr;
bool (*define_waiting)() = nullptr;

bool has_native(const char* name) { return typed_kernels().contains(name); }

void add_kernel(const char* name, const TypedKernel& kernel) { typed_kernels()[name].push_back(kernel); }

bool has_cuda_kernel(const std::string& name) {
  const auto typed = typed_kernels().find(name);
  return typed != typed_kernels().end() &&
         std::ranges::any_of(typed->second, [](const TypedKernel& k) { return k.on != On::cpu; });
}

PyObject* declined(Operator& op, const char* reason) {
  if (!reason || !*reason) return nullptr;
  for (auto& [known, times] : op.declines)
    if (known == reason || !std::strcmp(known, reason)) return ++times, nullptr;
  op.declines.emplace_back(reason, 1);
  return nullptr;
}

void find_natives(const std::string& name, Operator& into) {
  auto it = typed_kernels().find(name);
  if (it == typed_kernels().end()) return;
  bool fitted = false;
  for (const TypedKernel& kernel : it->second) {
    NativeFn& place = kernel.on == On::cpu ? into.native_cpu : into.native;
    if (!kernel.fits(into.schema) || (fitted |= place != nullptr, place)) continue;
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

Operator* add_operator(Operator&& op) {
  const std::string name = op.schema.qualified();
  CHECK(Kind::Runtime, !find_operator(name, op.schema.overload), "Tried to register an operator (", op.schema.text(),
      ") with the same name and overload name multiple times.");
  auto* owned = new Operator(std::move(op));
  table().by_name[name].push_back(owned);
  if (!owned->ops_only) table().public_by_name[name].push_back(owned);
  return owned;
}

void remove_operator(Operator* op) {
  auto it = table().by_name.find(op->schema.qualified());
  if (it == table().by_name.end()) return;
  std::erase(it->second, op);
  std::erase(table().public_by_name[it->first], op);
  // The operator itself stays: callables and graph nodes may still point at it.
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

}  // namespace shim
