// Launches of Triton kernels while a compiled function runs (trace/launches.h).
#include "dispatch/library.h"
#include "python/owned_ref.h"
#include "python/triton_record.h"
#include "trace/calls.h"
#include "trace/launches.h"

namespace shim::triton {

using namespace trace;

namespace {

Operator& operator_of(Record& r, const std::vector<Parameter>& parameters) {
  if (r.op) return *r.op;
  static size_t made = 0;
  std::vector<std::string> names;
  for (size_t p : r.launched) names.emplace_back(utf8(parameters[p].name));
  r.op = define_operator(cuda::launch_schema(r.code, names, str("kernel", ++made)), true);
  r.op->read_schema();
  cuda::launch_by(*r.op, r.code, make<HeldObject>(r.kept));
  return *r.op;
}

}  // namespace

PyObject* launch_traced(
    Session& s, Record& r, const std::vector<Parameter>& parameters, const Call& call, const unsigned* grid) {
  return guarded([&] {
    LaunchValues l(r.code, grid);
    put_values(r, call, l.parameters());
    Operator& op = operator_of(r, parameters);
    const char* why = against_launch(r.code, l);
    if (!why && deferred_launch(s, op, l)) return Py_NewRef(r.kernel);
    before_launch(s, l);
    {
      const Inside inside;
      cuda::launch(r.code, grid, l.parameters());
    }
    learn_launch(s, op, why, l);
    return Py_NewRef(r.kernel);
  });
}

void launched_at_once(Session& s, Record* r, const std::vector<Parameter>& parameters, const Call& call,
    const std::vector<PyObject*>& args, const unsigned* grid) {
  if (r) {
    LaunchValues l(r->code, grid);
    put_values(*r, call, l.parameters());
    return learn_launch(s, operator_of(*r, parameters), against_launch(r->code, l), l);
  }
  ++s.at_once;
  s.reasons.push_back({nullptr, "a Triton launch that stock Triton makes"});
  for (PyObject* o : args)
    if (is_tensor(o)) s.watch(*unwrap(o)->storage());
  if (s.watching) s.rewatch();
}

}  // namespace shim::triton
