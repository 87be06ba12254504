#pragma once
// Answers of kernels (ops/value.h) for callers that keep them: what they hold, and its end.
#include "ops/value.h"

namespace shim {

void drop(Answer&);  // gives up what it holds

// An answer with room for a few parts; what it holds is given up at the end.
class HeldAnswer : public Answer {
 public:
  HeldAnswer() {
    i = 0;
    room = kFew;
    parts = reinterpret_cast<Answer*>(few_);
  }
  HeldAnswer(const HeldAnswer&) = delete;
  ~HeldAnswer() {
    if (kind != declined && kind != argument) drop(*this);
  }

 private:
  static constexpr uint32_t kFew = 4;
  alignas(Answer) std::byte few_[kFew * sizeof(Answer)];
};

Value value_of(const Answer&, ValueRoom&);  // what it holds, lent; several results are a list

}  // namespace shim
