#pragma once
// Arguments some of whose tensors others stand for.
#include <vector>

#include "ops/value.h"

namespace shim {

class ReplacedArguments {
 public:
  // `stand_in(TensorImpl&, bool whole)` gives what stands for a tensor, which is a whole argument or of a list: null, or itself: nothing.
  template <class F> ReplacedArguments(const Value* args, size_t n, F&& stand_in) : args_(room_.take(n)) {
    for (size_t i = 0; i < n; ++i) args_[i] = replaced(args[i], true, stand_in);
  }
  Value* data() { return args_; }

 private:
  template <class F> Value replaced(const Value& v, bool whole, F& stand_in) {
    if (v.tag == Value::tensor) {
      Tensor other = stand_in(*v.t, whole);
      if (!other || other.get() == v.t) return v;
      Value given(kept_.emplace_back(std::move(other)).get());
      given.width = Value::subclass;  // who reads it asks what class it is of
      return given;
    }
    if (v.tag != Value::list || !any_tensor(&v, 1, [](TensorImpl&) { return true; })) return v;
    Value* items = room_.take(v.size);
    for (uint32_t i = 0; i < v.size; ++i) items[i] = replaced(v.items[i], false, stand_in);
    return {v.tag, v.size, items};
  }

  ValueRoom room_;
  Value* args_;
  std::vector<Tensor> kept_;
};

}  // namespace shim
