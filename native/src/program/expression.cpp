#include "program/expression.h"

#include <limits>

#include "cpu/formulas.h"

namespace shim::program {
namespace {

using Name = std::string_view;

// The name without the underscore of what writes in place.
Name base_name(const Step& s) {
  Name name = s.op->schema.name;
  if (s.op->inplace && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

bool is_tensor(const Value& v) { return std::holds_alternative<TensorRef>(v.is); }
bool is_none(const Value& v) { return std::holds_alternative<std::monostate>(v.is); }

}  // namespace

bool scalar_of(const Value& v, Scalar* s) {
  if (auto* b = std::get_if<bool>(&v.is))
    *s = {Scalar::Bool, *b, double(*b)};
  else if (auto* i = std::get_if<int64_t>(&v.is))
    *s = {Scalar::Int, *i, double(*i)};
  else if (auto* d = std::get_if<double>(&v.is))
    *s = {Scalar::Float, 0, *d};
  else if (auto* n = std::get_if<Scalar>(&v.is))
    *s = *n;
  else
    return false;
  return true;
}

Source Expression::operand(const program::Value& v, DType in, DType rounded) {
  if (auto* r = std::get_if<TensorRef>(&v.is)) return as(read(*r), in);
  return number(v, in, rounded);
}

Source Expression::operand(const PointwiseOp& op, size_t place, const program::Value& v, DType in, DType common) {
  auto* r = std::get_if<TensorRef>(&v.is);
  if (!r) return number(v, in, in == common || op.keeps_number(place, group.device) ? DType::undefined : common);
  const bool rounds = op.rounds(place, group.device, r->dtype, r->sizes.empty(), common);
  return rounds ? convert(read(*r), in, common).source : as(read(*r), in);
}

DType Expression::promoted(Arguments operands) const {
  Promotion p;
  for (const program::Value* v : operands) {
    Scalar s;
    if (auto* r = std::get_if<TensorRef>(&v->is))
      p.add(r->dtype, int(r->sizes.size()), r->wrapped_number);
    else if (auto* n = std::get_if<Parameter>(&v->is))
      p.add(steps.parameters.at(n->slot));
    else if (scalar_of(*v, &s))
      p.add(s);
    else
      refuse();
  }
  return p.result();
}

// A new tensor has the dtype that the operator's rule gives; one that is written to has its own.
void Expression::finish(const Step& step, Value v, DType dtype) {
  if (!step.op->inplace && step.results[0].dtype != dtype) refuse();
  if (step.op->inplace && !can_cast(dtype, step.results[0].dtype)) refuse();
  write(step.results[0], v);
}

Expression::Value Expression::computed(const PointwiseOp& op, Arguments operands, DType* given) {
  DType common = promoted(operands);
  if (op.rule == Rule::to_float && is_integral(common, true)) common = default_dtype();
  if (!ordinary(common)) refuse();
  const DType in = op.rule == Rule::logical ? DType::b8 : compute_dtype(common);
  const bool tests = op.rule == Rule::compare || op.rule == Rule::logical;
  *given = tests ? DType::b8 : common;
  Node n{op.name, op.at(in), in, tests ? DType::b8 : in, DType::undefined, uint8_t(operands.size()), {}};
  if (!n.cpu) refuse();
  for (size_t k = 0; k < operands.size(); ++k) n.args[k] = operand(op, k, *operands[k], in, common);
  return put(n);
}

bool Expression::by_rule(const Step& step, const PointwiseOp* op, Arguments operands) {
  if (!op) return false;
  DType given;
  const Value v = computed(*op, operands, &given);
  finish(step, v, given);
  return true;
}

bool Expression::sum(const Step& step, bool subtract, bool reversed) {
  if (step.args.size() != 3) return false;
  const program::Value &a = step.args[reversed ? 1 : 0], &b = step.args[reversed ? 0 : 1], &alpha = step.args[2];
  const PointwiseOp& op = *binary_op(subtract ? "sub" : "add");
  Scalar factor;
  const program::Value* const both[] = {&a, &b};
  if (scalar_of(alpha, &factor) && factor.type != Scalar::Complex && factor.to_double() == 1)
    return by_rule(step, &op, both);
  const DType common = promoted(both), in = compute_dtype(common);
  if (common == DType::b8 || !ordinary(common)) return false;
  Value scaled{operand(op, 1, b, in, common), in};
  const DType rounded = in != common && group.device.is_cpu() ? common : DType::undefined;
  const Source first = operand(op, 0, a, in, common), by = number(alpha, in, rounded);
  if (!subtract) {
    const Node n{"add_scaled", add_scaled().at(in), in, in, DType::undefined, 3, {first, scaled.source, by}};
    if (!n.cpu) return false;
    finish(step, put(n), common);
    return true;
  }
  const PointwiseOp& times = *binary_op("mul");
  if (!times.at(in) || !op.at(in)) return false;
  scaled = put({times.name, times.at(in), in, in, DType::undefined, 2, {scaled.source, by}});
  finish(step, put({op.name, op.at(in), in, in, DType::undefined, 2, {first, scaled.source}}), common);
  return true;
}

bool Expression::division(const Step& step) {
  const program::Value* const both[] = {&step.args[0], &step.args[1]};
  if (step.args.size() == 2) return by_rule(step, binary_op("div"), both);
  auto* rounding = std::get_if<std::string>(&step.args[2].is);
  if (!rounding) return is_none(step.args[2]) && by_rule(step, binary_op("div"), both);
  return by_rule(step,
      binary_op(*rounding == "floor"   ? "floor_divide"
                : *rounding == "trunc" ? "div_trunc"
                                       : ""),
      both);
}

bool Expression::power(const Step& step) {
  const program::Value* const both[] = {&step.args[0], &step.args[1]};
  Scalar n;
  if (is_tensor(step.args[1])) return by_rule(step, binary_op("pow"), both);
  if (!scalar_of(step.args[1], &n) || n.type == Scalar::Complex || !is_tensor(step.args[0])) return false;
  const double e = n.to_double();
  if (!is_floating(std::get<TensorRef>(step.args[0].is).dtype)) return e >= 0 && by_rule(step, binary_op("pow"), both);
  const Arguments self{both, 1};
  if (e == 2) return by_rule(step, unary_op("square"), self);
  if (e == 0.5) return by_rule(step, unary_op("sqrt"), self);
  if (e == -0.5) return by_rule(step, unary_op("rsqrt"), self);
  if (e == -1) return by_rule(step, unary_op("reciprocal"), self);
  if (e == 1) return copied(step, *self[0]);
  if (group.device.is_cpu() && (e == 3 || e == -2)) return formula(step, e == 3 ? "cube" : "inverse_square", self);
  return by_rule(step, binary_op("pow"), both);
}

bool Expression::selection(
    const Step& step, const program::Value& condition, const program::Value& a, const program::Value& b) {
  if (!is_tensor(condition)) return false;
  const program::Value* const both[] = {&a, &b};
  const DType common = promoted(both), in = compute_dtype(common);
  const BlockKernel kernel = ordinary(common) ? where_op().at(in) : nullptr;
  if (!kernel) return false;
  const Source c = operand(condition, in, DType::undefined), x = operand(a, in, common), y = operand(b, in, common);
  finish(step, put({"where", kernel, in, in, DType::undefined, 3, {c, x, y}}), common);
  return true;
}

bool Expression::bounds(const Step& step, const program::Value* least, const program::Value* most) {
  const program::Value* operands[3] = {&step.args[0]};
  size_t n = 1;
  for (const program::Value* v : {least, most})
    if (v && !is_none(*v)) {
      if (is_tensor(*v)) return false;
      operands[n++] = v;
    }
  const DType common = promoted({operands, n}), in = compute_dtype(common);
  const BlockKernel kernel = ordinary(common) ? clamp_op().at(in) : nullptr;
  if (!kernel || n == 1 || (is_integral(in, true) && n != 3)) return false;
  const auto bound = [&](const program::Value* v, double otherwise) {
    if (v && !is_none(*v)) return number(*v, in, common);
    return put_number({{Scalar::Float, 0, otherwise}, -1, in, DType::undefined});
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Source x = operand(step.args[0], in, DType::undefined);
  const Source low = bound(least, -kInfinity), high = bound(most, kInfinity);
  finish(step, put({"clamp", kernel, in, in, DType::undefined, 3, {x, low, high}}), common);
  return true;
}

// Operators of one floating dtype that are a loop of the tables in cpu/formulas.h.
bool Expression::formula(const Step& step, Name name, Arguments operands) {
  const PointwiseFormula* f = pointwise_formula(name);
  if (!f || operands.size() != size_t(f->tensors + f->numbers) || operands.size() > 4) return false;
  DType t = DType::undefined;
  for (size_t k = 0; k < operands.size(); ++k) {
    auto* r = std::get_if<TensorRef>(&operands[k]->is);
    if (!r) continue;
    if (k >= size_t(f->tensors) || (t != DType::undefined && t != r->dtype)) return false;
    t = r->dtype;
  }
  if (t == DType::undefined || !is_floating(t) || !ordinary(t)) return false;
  const DType in = compute_dtype(t);
  Node n{f->name, in == DType::f64 ? f->f64 : f->f32, in, in, DType::undefined, uint8_t(operands.size()), {}};
  if (!n.cpu) return false;  // a table of one dtype only
  for (size_t k = 0; k < operands.size(); ++k) n.args[k] = operand(*operands[k], in, DType::undefined);
  finish(step, put(n), t);
  return true;
}

// The elements of a tensor, or a number, in the result's dtype.
bool Expression::copied(const Step& step, const program::Value& from) {
  const TensorRef& to = step.results[0];
  const DType in = compute_dtype(to.dtype);
  if (!ordinary(to.dtype)) return false;
  if (!is_tensor(from)) {
    write(to, {number(from, in, DType::undefined), in});
    return true;
  }
  const DType t = std::get<TensorRef>(from.is).dtype;
  const Value v = read(std::get<TensorRef>(from.is));
  const bool as_it_is = v.dtype == in && (to.dtype == t || to.dtype == in);
  write(to, as_it_is ? v : convert(v, in, in == to.dtype ? DType::undefined : to.dtype));
  return true;
}

namespace {

using Operands = std::vector<const Value*>;
Operands all_of(const Step& step) {
  Operands all;
  for (const Value& v : step.args) all.push_back(&v);
  return all;
}

// What is more than a loop of the tables over all arguments, by the operator's name and how many arguments it has.
struct Special {
  std::string_view name;
  size_t arguments;
  bool (*lower)(Expression&, const Step&);
};
template <auto f> constexpr Special special(std::string_view name, size_t arguments) {
  return {name, arguments, [](Expression& e, const Step& s) -> bool { return f(e, s); }};
}

constexpr auto plus = [](Expression& e, const Step& s) { return e.sum(s, false, false); };
constexpr auto minus = [](Expression& e, const Step& s) { return e.sum(s, true, false); };
constexpr auto minus_reversed = [](Expression& e, const Step& s) { return e.sum(s, true, true); };
constexpr auto quotient = [](Expression& e, const Step& s) { return e.division(s); };
constexpr auto raised = [](Expression& e, const Step& s) { return e.power(s); };
constexpr auto chosen = [](Expression& e, const Step& s) { return e.selection(s, s.args[0], s.args[1], s.args[2]); };
constexpr auto filled = [](Expression& e, const Step& s) {
  return !is_tensor(s.args[2]) && e.selection(s, s.args[1], s.args[2], s.args[0]);
};
constexpr auto norm = [](Expression& e, const Step& s) { return e.given_norm(s); };
constexpr auto between = [](Expression& e, const Step& s) { return e.bounds(s, &s.args[1], &s.args[2]); };
constexpr auto at_least = [](Expression& e, const Step& s) { return e.bounds(s, &s.args[1], nullptr); };
constexpr auto at_most = [](Expression& e, const Step& s) { return e.bounds(s, nullptr, &s.args[1]); };
constexpr auto copy_of = [](Expression& e, const Step& s) { return !s.op->inplace && e.copied(s, s.args[0]); };
constexpr auto written = [](Expression& e, const Step& s) { return s.op->inplace && e.copied(s, s.args[1]); };
constexpr auto zeroed = [](Expression& e, const Step& s) { return s.op->inplace && e.copied(s, Value{int64_t{0}}); };
constexpr auto negated = [](Expression& e, const Step& s) {  // of truth values it is the logical one
  const auto* r = std::get_if<TensorRef>(&s.args[0].is);
  return e.by_rule(s, unary_op(r && r->dtype == DType::b8 ? "logical_not" : "bitwise_not"), all_of(s));
};
bool curved(const Step& s) {
  auto* kind = std::get_if<std::string>(&s.args.back().is);
  return kind && *kind == "tanh";
}
constexpr auto gelu = [](Expression& e, const Step& s) {
  return e.by_rule(s, unary_op(curved(s) ? "gelu_tanh" : "gelu"), {all_of(s).data(), 1});
};
constexpr auto gelu_slope = [](Expression& e, const Step& s) {
  return e.formula(s, curved(s) ? "gelu_tanh_backward" : "gelu_backward", {all_of(s).data(), 2});
};
constexpr auto relu_slope = [](Expression& e, const Step& s) {
  Scalar zero;
  return scalar_of(s.args[2], &zero) && zero.to_double() == 0 && e.formula(s, "relu_backward", {all_of(s).data(), 2});
};
constexpr auto slope = [](Expression& e, const Step& s) {  // shim::pointwise_backward names its formula
  auto* name = std::get_if<std::string>(&s.args[2].is);
  return name && e.formula(s, *name, {all_of(s).data(), 2});
};

constexpr Special kSpecial[] = {special<plus>("add", 3), special<minus>("sub", 3), special<minus_reversed>("rsub", 3),
    special<quotient>("div", 2), special<quotient>("div", 3), special<raised>("pow", 2), special<chosen>("where", 3),
    special<filled>("masked_fill", 3), special<between>("clamp", 3), special<at_least>("clamp_min", 2),
    special<at_most>("clamp_max", 2), special<copy_of>("_to_copy", 7), special<copy_of>("clone", 2),
    special<written>("copy", 3), special<written>("fill", 2), special<zeroed>("zero", 1),
    special<negated>("bitwise_not", 1), special<gelu>("gelu", 2), special<gelu_slope>("gelu_backward", 3),
    special<relu_slope>("threshold_backward", 3), special<slope>("pointwise_backward", 6),
    special<norm>("channel_norm", 7)};

}  // namespace

bool Expression::lower(const Step& step) {
  const Name name = base_name(step);
  if (step.args.empty() || (step.op->schema.ns != "aten" && step.op->schema.ns != "shim")) return false;
  for (const Special& s : kSpecial)
    if (s.name == name && s.arguments == step.args.size()) return s.lower(*this, step);
  if (step.op->schema.ns != "aten") return false;
  const Operands all = all_of(step);
  if (formula(step, name, all)) return true;
  if (all.size() == 1) return by_rule(step, unary_op(std::string(name)), all);
  return all.size() == 2 && by_rule(step, binary_op(std::string(name)), all);
}

}  // namespace shim::program
