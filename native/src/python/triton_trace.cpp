// Launches of Triton kernels in a compiled function: operators of its tree.
#include "dispatch/library.h"
#include "python/owned_ref.h"
#include "python/trace.h"
#include "python/trace_modes.h"
#include "python/trace_rules.h"
#include "python/triton_record.h"

namespace shim::triton {

using namespace trace;

namespace {

const Produced kNothing{Results::list, {}};

Operator& operator_of(Record& r, const std::vector<Parameter>& parameters) {
  if (r.op) return *r.op;
  std::vector<std::string> names;
  for (size_t p : r.launched) names.emplace_back(utf8(parameters[p].name));
  return *(r.op = &make_operator(r.code, names, r.kept));
}

struct Launch {  // its arguments as the operator has them
  Value values[kGrid + kMostParameters];
  size_t n = kGrid;

  Launch(const Record& r, const Call& call, const unsigned* grid) : n(kGrid + r.launched.size()) {
    for (size_t i = 0; i < kGrid; ++i) values[i] = Value(Value::integer, grid[i]);
    put_values(r, call, values + kGrid);
  }
  template <class F> void each_tensor(F&& f) const {
    any_tensor(values, n, [&](TensorImpl& t) { return f(t), false; });
  }
};

const char* against_launch(const Record& r, const Launch& l) {
  if (r.code.at_once) return r.code.at_once;
  const char* why = nullptr;
  bool any = false;
  l.each_tensor([&](const TensorImpl& t) {
    any = true;
    if (t.device().index != r.code.device) why = "a Triton launch on another device than its tensors";
    if (!t.numel()) why = "a Triton launch with tensors of no elements";
    if (t.has_math_bits()) why = "a Triton launch with conjugate or negative bits";
  });
  return any ? why : "a Triton launch without tensors";
}

bool deferred_launch(Session& s, Operator& op, const Launch& l) {
  Given given;
  TreeNode* node = s.following() ? known(s, op, l.values, l.n, false, given) : nullptr;
  Foreseen f;
  if (!node && may_foresee(s, op)) {
    f = foresee(s, op, l.values, l.n, kNothing, false, given);
    node = f.node;
    if (node) note_line(*node);
  }
  if (!node && s.refusal) s.missed(op, who_asks(nullptr));
  if (node) s.defer(*node, given.inputs, given.parameters, f.held);
  return node != nullptr;
}

void run_before_launch(Session& s, const Launch& l) {
  bool hidden = false;
  l.each_tensor([&](const TensorImpl& t) { hidden = hidden || t.storage()->hidden(); });
  if (s.any_deferred() && hidden) s.flush();
  s.unwatch();
}

void learn_launch(Session& s, Operator& op, const char* why, const Launch& l) {
  if (why)
    at_once(s, op, why);
  else
    learn(s, op, l.values, l.n, kNothing, false);
  if (!s.watching) return;
  l.each_tensor([&](const TensorImpl& t) { s.watch(*t.storage()); });
  s.rewatch();
}

}  // namespace

PyObject* launch_traced(
    Session& s, Record& r, const std::vector<Parameter>& parameters, const Call& call, const unsigned* grid) {
  return guarded([&] {
    const Launch l(r, call, grid);
    Operator& op = operator_of(r, parameters);
    const char* why = against_launch(r, l);
    if (!why && deferred_launch(s, op, l)) return Py_NewRef(r.kernel);
    run_before_launch(s, l);
    {
      const Inside inside;
      launch(r.code, grid, l.values + kGrid);
    }
    learn_launch(s, op, why, l);
    return Py_NewRef(r.kernel);
  });
}

void launched_at_once(Session& s, Record* r, const std::vector<Parameter>* parameters, const Call& call,
    PyObject* const* args, size_t n, const unsigned* grid) {
  if (r && parameters) {
    const Launch l(*r, call, grid);
    return learn_launch(s, operator_of(*r, *parameters), against_launch(*r, l), l);
  }
  ++s.at_once;
  s.reasons.push_back({nullptr, "a Triton launch that stock Triton makes"});
  if (!s.watching) return;
  for (size_t i = 0; i < n; ++i)
    if (is_tensor(args[i])) s.watch(*unwrap(args[i])->storage());
  s.rewatch();
}

}  // namespace shim::triton
