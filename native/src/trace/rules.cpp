// What records say of operators whose calls may be deferred.
#include <unordered_map>

#include "ops/interpreter_function.h"
#include "trace/learn.h"

namespace shim::trace {
namespace {

std::string asked(const Ref<HeldObject>& function, void* record) {  // empty for None
  const Value given = held_value(record);
  std::string text;
  interpreter_functions.call(function->object, {&given, 1}, [&](const Value& answer) {
    if (answer.tag == Value::text) text.assign(answer.chars, answer.size);
  });
  return text;
}

}  // namespace

// Asked once an operator.
const Rule& rule_of(Operator& op) {
  static auto* rules = new std::unordered_map<Operator*, Rule>;
  if (const auto known = rules->find(&op); known != rules->end()) return known->second;
  Rule rule;  // kept when it is whole: what is asked may fail, or let another thread ask meanwhile
  void* const record = op.out || !op.recorded ? nullptr : interpreter_functions.record(op);
  if (!record) {
    rule.library = true;
    rule.against = "an operator of a library";
    return rules->emplace(&op, std::move(rule)).first->second;
  }
  rule.against = asked(deferral_rule, record);
  rule.draws = rule.against.starts_with("it draws");
  const std::string what = asked(condition_rule, record);
  const auto says = [&](std::string_view word) { return what.find(word) != std::string::npos; };
  rule.divides = says("divides");
  rule.bounds = says("bounds");
  rule.foreseen = says("any")        ? Rule::always
                  : says("floats")   ? Rule::of_floats
                  : says("integers") ? Rule::of_integers
                                     : Rule::never;
  if (rule.against.starts_with("the shape")) rule.shape = op.full_name() + ": " + rule.against;
  return rules->emplace(&op, std::move(rule)).first->second;
}

}  // namespace shim::trace
