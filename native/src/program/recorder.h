#pragma once
// Collects Steps while operators run: which storage is which.
#include <functional>
#include <unordered_map>

#include "program/step.h"

namespace shim::program {

class Recorder {
 public:
  void input(const Tensor&);  // before the first step that reads it
  // What stands for the tensor. A storage that no step and no input gave is a constant.
  TensorRef ref(const Tensor&);
  void step(Operator&, List args, std::span<const Tensor> results, int32_t line = -1);  // after the operator ran
  void to_parameter(size_t argument, Scalar);  // an argument of the last step is what a call brings from now on
  void output(const Tensor& t) { steps_.storages[size_t(ref(t).storage)].outlives = true; }
  const Steps& steps() const { return steps_; }

 private:
  int32_t slot(const Tensor&, StorageSlot::Origin);
  Steps steps_;
  std::unordered_map<const Storage*, int32_t> slots_;
  std::vector<Ref<Storage>> kept_;  // none of them may die: another would get its address
};

// Runs what it has recorded with these inputs. The outputs are tensors of the recording, whose geometry the run's results get.
std::vector<Tensor> run_with(Recorder&, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
    const std::function<void(Storages)>& run);

}  // namespace shim::program
