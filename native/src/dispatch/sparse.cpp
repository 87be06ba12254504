#include "dispatch/sparse.h"

#include "autograd/attributes.h"

namespace shim {

namespace {

SparseRule rule_of(Operator& op) {
  if (op.sparse_rule == SparseRule::unknown) sparse_calls.learn(op);
  return op.sparse_rule;
}

bool runs_something(SparseRule rule) { return rule == SparseRule::kernel || rule == SparseRule::parts; }

void run_rule(Operator& op, const Value* args, size_t n, Result& r) {
  NoGrad off;
  sparse_calls.rule(op, args, n, r);
}

void run_recorded_sparse(Operator& op, const Value* args, size_t n, Result& r) {
  if (op.sparse_rule == SparseRule::parts) return sparse_calls.rule(op, args, n, r);
  run_rule(op, args, n, r);
  const bool viewed = op.kind == Operator::View && !op.formulas.empty();  // indices are views without a base
  if (viewed && n > 0 && args[0].is_tensor() && r.tensor() && r.tensor() != args[0].t && !below_handler)
    mark_view(Tensor(r.tensor()), Tensor(args[0].t));
  const bool made_new = op.factory && op.kind == Operator::Composite;  // zeros_like: of the sizes only
  if (!made_new && wants_history(args, n)) record_history(op, args, n, r.answer, false, {});
}

// What self was, with its history.
Tensor before_rule(const Tensor& target) {
  Tensor before;
  {
    NoGrad off;
    before = clone_by_operator(target);
  }
  if (!target->requires_grad()) return before;
  const Edge edge = gradient_edge(target);
  AutogradMeta& meta = before->ensure_autograd();
  meta.grad_fn = edge.node;
  meta.output_nr = edge.input_nr;
  return before;
}

// A rule of the in-place operator's own writes self and returns it; else the functional result is stored in self.
void run_inplace_sparse(Operator& op, Value* args, size_t n, Result& r) {
  Operator& f = *op.functional;
  const bool own = runs_something(op.sparse_rule);
  if (!own && !runs_something(rule_of(f))) return sparse_calls.refuse(op, args, n, r);
  const Tensor target(args[0].t);
  const bool history = wants_history(args, n);
  if (history || target->is_inference) check_inplace(target);
  std::vector<Value> saved(args, args + n);
  const Tensor before = history ? before_rule(target) : Tensor();
  if (history) saved[0] = tensor_value(before);
  const uint32_t version = target->version();
  Result result;
  run_rule(own ? op : f, args, n, result);
  if (!own) sparse_calls.store(target, result, false);
  if (target->version() == version) target->bump_version();
  r.give_argument(target.get());
  if (history) record_history(f, saved.data(), n, r.answer, true, {});
}

// A factory's layout and dtype are those of out.
void take_of_out(const Operator& f, std::vector<Value>& given, const TensorImpl& out) {
  const SparseParts* parts = sparse_parts(out);
  for (size_t i = 0; f.factory && i < given.size(); ++i) {
    if (given[i].tag != Value::none) continue;
    if (f.schema.args[i].name == "layout") given[i] = {Value::layout, parts ? int64_t(parts->layout) : 0};
    if (f.schema.args[i].name == "dtype") given[i] = {Value::dtype, int64_t(out.dtype())};
  }
}

void run_out_sparse(Operator& op, Value* args, size_t n, Result& r) {
  Operator& f = *op.functional;
  const size_t inputs = f.schema.args.size();
  CHECK(Kind::Runtime, !wants_history(args, n), op.schema.name,
      "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
      "grad.");
  NoGrad off;
  if (runs_something(op.sparse_rule)) return sparse_calls.rule(op, args, n, r);
  Result result;
  if (rule_of(f) != SparseRule::pass && any_sparse(args, inputs)) {
    if (f.sparse_rule == SparseRule::refuse || n != inputs + 1) return sparse_calls.refuse(op, args, n, r);
    sparse_calls.rule(f, args, inputs, result);
  } else {
    std::vector<Value> given(args, args + inputs);
    if (args[inputs].is_tensor()) take_of_out(f, given, *args[inputs].t);
    run_functional(f, given.data(), inputs, result);
  }
  CHECK(Kind::Type, args[inputs].is_tensor(), "out= takes tensors");
  sparse_calls.store(Tensor(args[inputs].t), result, true);
  r.give_argument(args[inputs].t);
}

}  // namespace

bool call_sparse(Operator& op, Value* args, size_t n, Result& r) {
  const SparseRule rule = rule_of(op);
  const auto answered = [&](auto run) { return run(op, args, n, r), true; };
  if (op.out) return answered(run_out_sparse);
  const bool derived = op.inplace && op.functional != &op && rule == SparseRule::pass;
  if (derived && rule_of(*op.functional) != SparseRule::pass) return answered(run_inplace_sparse);
  if (rule == SparseRule::pass) {
    const bool reads_memory = op.kind == Operator::Composite && (op.native || op.native_cpu) && !op.inplace;
    return reads_memory && answered(interpreter_calls.body);
  }
  if (op.inplace) return answered(run_inplace_sparse);
  return rule == SparseRule::refuse ? answered(sparse_calls.refuse) : answered(run_recorded_sparse);
}

}  // namespace shim
