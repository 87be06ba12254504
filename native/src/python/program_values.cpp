#include "python/program_values.h"

#include "autograd/autocast.h"
#include "autograd/profile.h"
#include "core/lazy_clone.h"
#include "program/values.h"
#include "python/dispatch.h"
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

void run_step(const Step& step, Storages storages, std::span<const Scalar> parameters) {
  NoGrad off;
  WithoutAutocast no_casts;
  if (!(python_dispatch && dispatch_mode_active()) && !lazy_clones && !profile::on &&
      run_kernel(step, storages, parameters))
    return;
  Given given(storages, parameters);
  Bound b;
  b.reset(step.args.size());
  for (size_t i = 0; i < step.args.size(); ++i) b.set(i, object_of(given.of(step.args[i])));
  OwnedRef result = owned(call_operator(*step.op, b));
  std::vector<Tensor> tensors;
  if (!step.op->schema.returns.empty()) collect_tensors(result, tensors);
  CHECK(Kind::Runtime, tensors.size() == step.results.size(), step.op->full_name(), " gave ", tensors.size(),
      " tensors where its trace has ", step.results.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (step.results[i].storage >= 0)
      storages[size_t(step.results[i].storage)] = storage_as(tensors[i], step.results[i]);
}

}  // namespace program

}  // namespace shim
