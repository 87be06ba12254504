// One step of a program through the dispatcher.
#include "autograd/autocast.h"
#include "dispatch/call.h"
#include "program/values.h"

namespace shim::program {

void run_step(const Step& step, Storages storages, std::span<const Scalar> parameters) {
  if (step.op->any_numbers && run_kernel(step, storages, parameters)) return;  // a launch: nothing else has a say in it
  NoGrad off;
  WithoutAutocast no_casts;
  Operator& op = *step.op;
  const size_t n = step.args.size();
  Given given(storages, parameters);
  ValueRoom room;
  shim::Value* args = room.take(n);
  for (size_t i = 0; i < n; ++i) args[i] = given.of(step.args[i]);
  Result result;
  call_operator(op, args, n, result);
  std::vector<Tensor> tensors;
  if (!op.schema.returns.empty()) shim::each_tensor(result.answer, [&](TensorImpl& t) { tensors.emplace_back(&t); });
  CHECK(Kind::Runtime, tensors.size() == step.results.size(), op.full_name(), " gave ", tensors.size(),
      " tensors where its trace has ", step.results.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (step.results[i].storage >= 0)
      storages[size_t(step.results[i].storage)] = storage_as(tensors[i], step.results[i]);
}

}  // namespace shim::program
