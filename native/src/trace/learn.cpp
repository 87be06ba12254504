#include "trace/learn.h"

#include <algorithm>

namespace shim::trace {

namespace {

// With a dropout, which is a number of its own.
bool drops_out(const Operator& op, const Value* args) {
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    const std::string& name = op.schema.args[i].name;
    if ((name == "dropout" || name == "dropout_p") && args[i].tag == Value::real && args[i].f > 0) return true;
  }
  return false;
}

bool is_mask(const Value& v) {
  return v.tag == Value::tensor && (v.t->dtype() == DType::b8 || v.t->dtype() == DType::u8);
}

// A mask stands for the places where it is true: how many, its values tell.
bool takes_mask(const Operator& op, const Value* args) {
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    const ArgType& type = op.schema.args[i].type;
    const bool indices = type.list && type.element_optional && args[i].tag == Value::list;
    if (indices && std::any_of(args[i].items, args[i].items + args[i].size, is_mask)) return true;
  }
  return false;
}

bool is_not_zero(const Value& v) { return v.tag == Value::integer && v.width == Value::word && v.i; }

// The least and the largest, as numbers.
bool given_bounds(const Operator& op, const Value* args) {
  double bounds[2] = {};
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    const std::string& name = op.schema.args[i].name;
    if (name != "min" && name != "max") continue;
    if (args[i].tag != Value::integer && args[i].tag != Value::real) return false;
    bounds[name == "max"] = args[i].number().to_double();
  }
  return bounds[0] < bounds[1];
}

bool any_floating(const Value& v) {
  if (v.tag == Value::list) return std::any_of(v.items, v.items + v.size, any_floating);
  return v.tag == Value::tensor && is_floating(v.t->dtype());
}

}  // namespace

const char* against_call(const Rule& rule, const Operator& op, const Value* args, size_t n) {
  if (!rule.against.empty()) return rule.against.c_str();
  if (drops_out(op, args)) return "it draws random numbers";
  if (takes_mask(op, args)) return "a mask is among its indices";
  const bool by_number = n > 1 && is_not_zero(args[1]);
  if (rule.divides && !by_number && std::none_of(args, args + n, any_floating))
    return "integers may be divided by zero";
  if (rule.bounds && !given_bounds(op, args)) return "it asks its tensors for their bounds";
  return nullptr;
}

bool at_once(Session& s, const Operator& op, const char* why) {
  ++s.at_once;
  s.reasons.push_back({&op, why});
  return false;
}

void note_line(TreeNode& node) {
  const Break here = Session::who_asks(nullptr);
  node.file = here.file;
  node.line = here.line;
}

bool learn(Session& s, Operator& op, const Value* args, size_t n, const Produced& produced, bool wants_gradient) {
  if (s.tree().full() || !s.learns) s.leave_tree();
  if (!s.following()) return at_once(s, op, "too many ways through the function");
  if (s.apart && !s.at()->next.empty()) {  // such a function may do what it wants, without other ways
    s.tree().apart_varies = true;
    return at_once(s, op, "a function that is not to be compiled varies");
  }
  const char* why = nullptr;
  std::unique_ptr<TreeNode> node = node_of(s, op, args, n, produced, &why);
  if (!node) {
    if (why == kSharesWithArgument) s.tree().aliases.insert(&op), ++s.aliased;
    return at_once(s, op, why);
  }
  if (s.any_deferred()) s.run_foreseen();  // what is deferred is one piece of the tree
  node->wants_gradient = wants_gradient;
  note_line(*node);
  TreeNode* made = node.get();
  s.add(std::move(node));
  s.went(*made, produced.tensors);
  return true;
}

bool learn(Session& s, const Rule& rule, Operator& op, const Value* args, size_t n, const Produced& produced,
    bool wants_gradient) {
  const char* why = against_call(rule, op, args, n);
  return why ? at_once(s, op, why) : learn(s, op, args, n, produced, wants_gradient);
}

}  // namespace shim::trace
