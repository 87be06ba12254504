#pragma once
// How the interpreter's cycle collector sees through tensors and nodes: what an object keeps alive alone, over any number of C++
// objects, it shows as its own.
#include "autograd/autograd.h"

namespace shim {

// The collector asks several times and must hear the same each time, also where memory has run out: nothing is allocated, and
// what is beyond the bounds is not shown, which keeps it alive. The bounds are what a young collection may cost.
class HeldWalk final : public Visitor {
 public:
  using See = int (*)(void* object, void* arg);  // not 0: no more is asked
  using Owner = void* (*)(const Storage&);       // the interpreter's object that the memory is of, or null
  HeldWalk(See see, void* arg, Owner owner) : see_(see), owner_(owner), arg_(arg) {}

  void tensor(const Tensor& t) override {
    if (!t || !only_here(t.get())) return;
    if (t->keeps_object()) python(t->pyobj);
    push(t.get(), nullptr);
  }
  void shared(Traversable* o) override {
    if (o && only_here(o)) push(nullptr, o);
  }
  void python(void* o) override {
    if (o && !result_) result_ = see_(o, arg_);
  }

  int run() {
    for (int steps = 0; waiting_ && !result_ && steps < kSteps; ++steps) {
      const Item next = stack_[--waiting_];
      if (next.other)
        next.other->traverse(*this);
      else
        contents(*next.tensor);
    }
    return result_;
  }

  void contents(const TensorImpl& t) {
    if (const Storage& s = *t.storage(); s.use_count() == 1) {
      python(owner_(s));
      if (s.keeps_object()) python(s.pyobj);
    }
    if (t.autograd()) t.autograd()->traverse(*this);
  }

 private:
  static constexpr int kSteps = 512, kWaiting = 128, kSeveral = 32;
  struct Item {
    const TensorImpl* tensor;
    const Traversable* other;
  };
  struct Several {
    const RefCounted* object;
    uint32_t met;
  };

  // Whether all references to it have been met: those that this walk comes by are its only ones.
  bool only_here(const RefCounted* o) {
    const uint32_t count = o->use_count();
    if (count < 2) return true;
    for (int i = 0; i < several_count_; ++i)
      if (several_[i].object == o) return ++several_[i].met == count;
    if (several_count_ < kSeveral) several_[several_count_++] = {o, 1};
    return false;
  }
  void push(const TensorImpl* t, const Traversable* o) {
    if (waiting_ < kWaiting) stack_[waiting_++] = {t, o};
  }

  See see_;
  Owner owner_;
  void* arg_;
  int result_ = 0, waiting_ = 0, several_count_ = 0;
  Item stack_[kWaiting];
  Several several_[kSeveral] = {};
};

}  // namespace shim
