#pragma once
// The numbers of a torch.Generator on the CPU, which belongs to the interpreter: kept alive for the call that draws from them.
#include "cpu/mersenne.h"

namespace shim {

class GeneratorLease {
 public:
  // Set by the binding. Of a generator's object, or of the default one (null); null: it is no CPU generator.
  static inline Mersenne* (*take)(void* generator, void** held) = nullptr;
  static inline void (*give_back)(void* held) = nullptr;

  explicit GeneratorLease(void* generator) : numbers_(take ? take(generator, &held_) : nullptr) {}
  GeneratorLease(const GeneratorLease&) = delete;
  GeneratorLease& operator=(const GeneratorLease&) = delete;
  ~GeneratorLease() {
    if (held_) give_back(held_);
  }
  explicit operator bool() const { return numbers_; }
  Mersenne& operator*() const { return *numbers_; }

 private:
  void* held_ = nullptr;
  Mersenne* numbers_;
};

}  // namespace shim
