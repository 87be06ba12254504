#include "program/recorder.h"

namespace shim::program {

int32_t Recorder::slot(const Tensor& t, StorageSlot::Origin origin) {
  const Ref<Storage>& storage = t->storage();
  const auto [at, fresh] = slots_.try_emplace(storage.get(), int32_t(slots_.size()));
  if (fresh) {
    kept_.push_back(storage);
    steps_.storages.push_back({origin, origin == StorageSlot::constant ? storage : Ref<Storage>(), storage->device(),
        storage->nbytes(), false});
  }
  return at->second;
}

void Recorder::input(const Tensor& t) { slot(t, StorageSlot::input); }

TensorRef Recorder::ref(const Tensor& t) { return TensorRef::of(*t, slot(t, StorageSlot::constant)); }

void Recorder::step(Operator& op, List args, std::span<const Tensor> results, int32_t line) {
  Step s{&op, std::move(args), {}, line};
  for (const Tensor& t : results) s.results.push_back(TensorRef::of(*t, slot(t, StorageSlot::made)));
  steps_.steps.push_back(std::move(s));
}

void Recorder::to_parameter(size_t argument, Scalar number) {
  steps_.steps.back().args.at(argument) = Value{Parameter{uint32_t(steps_.parameters.size())}};
  steps_.parameters.push_back(number);
}

std::vector<Tensor> run_with(Recorder& recorder, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
    const std::function<void(Storages)>& run) {
  const std::vector<StorageSlot>& slots = recorder.steps().storages;
  std::vector<Ref<Storage>> storages(slots.size());
  for (size_t i = 0, at = 0; i < storages.size(); ++i)
    if (slots[i].origin == StorageSlot::input) {
      CHECK(Kind::Runtime, at < inputs.size(), "a program got too few tensors");
      storages[i] = inputs[at++]->storage();
    }
  run(storages);
  std::vector<Tensor> results;
  for (const Tensor& t : outputs) results.push_back(tensor_of(recorder.ref(t), storages));
  return results;
}

}  // namespace shim::program
