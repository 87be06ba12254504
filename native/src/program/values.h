#pragma once
// Between the values of a call (ops/value.h) and those of a recorded step, which own what they hold.
#include "ops/value.h"
#include "program/recorder.h"

namespace shim::program {

Value recorded(const shim::Value&, Recorder&);
// Of what an operator gave, lists' one by one.
void collect_tensors(const shim::Value& gave, std::vector<Tensor>& into);

// What a step's value is when its program runs.
class Given {
 public:
  Given(Storages storages, std::span<const Scalar> parameters) : storages_(storages), parameters_(parameters) {}
  shim::Value of(const Value&);  // lives as long as this

 private:
  shim::Value list(const List&);
  Storages storages_;
  std::span<const Scalar> parameters_;
  ValueRoom room_;
  std::vector<Tensor> tensors_;
};

}  // namespace shim::program
