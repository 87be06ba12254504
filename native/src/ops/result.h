#pragma once
// What the call of an operator gave: a kernel's answer, or an object of the interpreter whose tensors the answer lends.
#include <utility>

#include "core/held_object.h"
#include "ops/answer.h"

namespace shim {

// Whether f(TensorImpl&) is true of a tensor that it holds; it is not asked about those after it.
template <class F> bool any_tensor(const Answer& a, F&& f) {
  if (a.kind == Answer::tensor || a.kind == Answer::argument) return a.t && f(*a.t);
  if (a.kind != Answer::tuple && a.kind != Answer::list) return false;
  for (int64_t k = 0; k < a.i; ++k)
    if (any_tensor(a.parts[k], f)) return true;
  return false;
}
template <class F> void each_tensor(const Answer& a, F&& f) {
  any_tensor(a, [&](TensorImpl& t) { return f(t), false; });
}

class Result {
 public:
  Result() = default;
  Result(const Result&) = delete;
  ~Result() {
    if (object_) interpreter_objects.release(object_);
  }
  void clear() {
    drop(answer);
    if (void* o = take_object()) interpreter_objects.release(o);
  }
  HeldAnswer answer;

  TensorImpl* tensor() const {  // null: it is none
    return answer.kind == Answer::tensor || answer.kind == Answer::argument ? answer.t : nullptr;
  }
  bool is_sequence() const { return answer.kind == Answer::tuple || answer.kind == Answer::list; }
  void give(Tensor t) {
    drop(answer);
    answer.kind = Answer::tensor;
    answer.t = t.detach();
  }
  void give_argument(TensorImpl* t) {  // which outlives the result
    drop(answer);
    answer.kind = Answer::argument;
    answer.t = t;
  }
  // Arguments that it lends are kept from now on: those of the call end before it does.
  void own() {
    if (!object_) keep(answer);
  }
  void hold(void* object) { object_ = object; }  // takes over a reference; the answer lends what is its
  void* object() const { return object_; }
  void* take_object() { return std::exchange(object_, nullptr); }

 private:
  static void keep(Answer& a) {
    if (a.kind == Answer::argument) {
      a.kind = Answer::tensor;
      if (a.t) a.t->retain();
    } else if (a.kind == Answer::tuple || a.kind == Answer::list) {
      for (int64_t k = 0; k < a.i; ++k) keep(a.parts[k]);
    }
  }

  void* object_ = nullptr;
};

}  // namespace shim
