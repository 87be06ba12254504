// Calls of compiled code into the operator table.
#include "abi/operators.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "abi/extension_host.h"
#include "abi/results.h"
#include "dispatch/call_values.h"
#include "dispatch/library.h"

namespace shim::abi {

namespace {

// A gradient that was not asked for (convolution_backward's output_mask) is None in Python, an undefined tensor in C++.
Cell returned_cell(const Value& v, const ArgType& type) {
  const bool undefined = v.tag == Value::none && type.base == ArgType::Tensor && !type.list && !type.optional;
  return undefined ? reinterpret_cast<Cell>(undefined_handle()) : cell_of(v, type);
}

struct TakenArguments {
  const Schema& schema;
  const Cell* stack;
  ~TakenArguments() { release_arguments(schema, stack, schema.args.size()); }
};

}  // namespace

void run_operator(const char* name, const char* overload, Cell* stack, bool internal) {
  Operator* op = find_operator(name, overload);
  CHECK(
      Kind::NotImplemented, op, "Could not find schema for ", name, ".", overload, ": shim-torch has no such operator");
  const Schema& s = op->schema;
  for (const Argument& a : s.args)
    CHECK(Kind::NotImplemented, internal || a.type.base != ArgType::Scalar, name, ".", overload,
        ": Not yet supported conversion: argument '", a.name, "' is a Scalar, which the stable C ABI cannot carry");
  std::vector<Cell> results(s.returns.size());
  {
    const TakenArguments taken{s, stack};
    ValueRoom room;
    Value* args = room.take(s.args.size());
    for (size_t i = 0; i < s.args.size(); ++i) args[i] = value_in(stack[i], s.args[i].type, room);
    call_values(*op, args, [&](const Value& result) {
      put_results(s, result, std::span(results), returned_cell, [](Cell c, const ArgType& type) { release(type, c); });
    });
  }
  std::ranges::copy(results, stack);
}

const Schema* schema_of_operator(const char* name, const char* overload) {
  Operator* op = find_operator(name, overload);
  return op ? &op->schema : nullptr;
}

namespace {

std::vector<std::string>& problems() {
  static auto* p = new std::vector<std::string>;
  return *p;
}
std::unordered_map<std::string, std::vector<int32_t>>& tags() {
  static auto* t = new std::unordered_map<std::string, std::vector<int32_t>>;
  return *t;
}

}  // namespace

void take_over_libraries() {
  if (!any_news()) return;
  News news = take_news();
  for (auto& p : news.problems) problems().push_back(p);
  for (auto& d : news.definitions) {
    if (!d.tags.empty()) tags()[d.schema.qualified() + "." + d.schema.overload] = d.tags;
    try {
      define_operator(std::move(d.schema));
    } catch (const Error& e) { problems().push_back(str(e.what(), " (", d.file, ":", d.line, ")")); }
  }
  for (auto& i : news.implementations)
    put_kernel(i.qualified, i.overload, i.key, stable_kernel(i.kernel, i.qualified, i.overload));
}

std::vector<std::string> take_problems() { return std::exchange(problems(), {}); }

std::vector<std::string> tags_of(std::string_view qualified, std::string_view overload) {
  std::vector<std::string> names;
  if (auto it = tags().find(str(qualified, ".", overload)); it != tags().end())
    for (int32_t tag : it->second)
      if (*tag_name(tag)) names.push_back(tag_name(tag));
  return names;
}

}  // namespace shim::abi
