#include "python/program_values.h"

#include "autograd/autocast.h"
#include "program/values.h"
#include "python/owned_ref.h"
#include "python/torch_dispatch.h"
#include "python/values.h"

namespace shim {

using namespace program;

namespace {

struct WithoutAutocast {
  AutocastMode was = autocast_mode();
  WithoutAutocast() { autocast_mode().cpu.enabled = autocast_mode().cuda.enabled = false; }
  ~WithoutAutocast() {
    autocast_mode().cpu.enabled = was.cpu.enabled;
    autocast_mode().cuda.enabled = was.cuda.enabled;
  }
};

}  // namespace

List values_of(Recorder& recorder, PyObject* const* args, size_t n) {
  Values given;
  List values;
  for (size_t i = 0; i < n; ++i) values.push_back(args[i] ? recorded(given.of(args[i]), recorder) : program::Value{});
  return values;
}

void collect_tensors(PyObject* result, std::vector<Tensor>& into) {
  if (is_tensor(result)) {
    into.emplace_back(unwrap(result));
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      collect_tensors(PySequence_Fast_GET_ITEM(result, i), into);
  } else {
    CHECK(Kind::Runtime, result == Py_None, "a step of a trace gave a ", Py_TYPE(result)->tp_name,
        ", which is no tensor");
  }
}

namespace program {

namespace {

void collect_tensors(const shim::Value& v, std::vector<Tensor>& into) {
  if (v.tag == shim::Value::tensor) into.emplace_back(v.t);
  if (v.tag == shim::Value::list)
    for (const shim::Value& item : std::span(v.items, v.size)) collect_tensors(item, into);
}

// False: more than its kernel is in the call.
bool run_kernel(Operator& op, const shim::Value* args, size_t n, std::vector<Tensor>& tensors) {
  if (python_has_a_say(op, args)) return false;
  HeldAnswer answer;
  if (!call_directly(op, args, n, answer)) return false;
  ValueRoom room;
  collect_tensors(value_of(answer, room), tensors);
  return true;
}

}  // namespace

void run_step(const Step& step, Storages storages, std::span<const Scalar> parameters) {
  NoGrad off;
  WithoutAutocast no_casts;
  Operator& op = *step.op;
  const size_t n = step.args.size();
  Given given(storages, parameters);
  ValueRoom room;
  shim::Value* args = room.take(n);
  for (size_t i = 0; i < n; ++i) args[i] = given.of(step.args[i]);
  std::vector<Tensor> tensors;
  if (!run_kernel(op, args, n, tensors)) {
    Bound b;
    b.reset(n);
    for (size_t i = 0; i < n; ++i) b.set(i, object_of(args[i]));
    OwnedRef result = owned(call_operator(op, b));
    if (!op.schema.returns.empty()) shim::collect_tensors(result, tensors);
  }
  CHECK(Kind::Runtime, tensors.size() == step.results.size(), op.full_name(), " gave ", tensors.size(),
      " tensors where its trace has ", step.results.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (step.results[i].storage >= 0)
      storages[size_t(step.results[i].storage)] = storage_as(tensors[i], step.results[i]);
}

}  // namespace program

}  // namespace shim
