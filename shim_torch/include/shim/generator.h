#pragma once
// torch.Generator in C++: a counted Python object.
#include <shim/scalar.h>

namespace c10 {

// Generators stay Python's objects.
struct GeneratorImpl {
  ShimCell cell;
  std::mutex mutex_;
  explicit GeneratorImpl(ShimCell owned = {}) : cell(owned) {}
  GeneratorImpl(const GeneratorImpl&) = delete;
  ~GeneratorImpl() { shim_cxx_release(&cell, 1); }
  uint64_t asked(int what, size_t i = 0) const {
    uint64_t answer[2] = {};
    shim::check(shim_cxx_generator(&cell, what, 0, answer));
    return answer[i];
  }
  Device device() const {
    return {DeviceType(asked(SHIM_GENERATOR_DEVICE)), DeviceIndex(int64_t(asked(SHIM_GENERATOR_DEVICE, 1)))};
  }
  uint64_t current_seed() const { return asked(SHIM_GENERATOR_SEED); }
};
class Generator {
 public:
  Generator() = default;
  explicit Generator(ShimCell owned) : held_(std::make_shared<GeneratorImpl>(owned)) {}
  bool defined() const { return bool(held_); }
  ShimCell cell() const { return held_ ? held_->cell : ShimCell{}; }
  Device device() const { return held_->device(); }
  uint64_t current_seed() const { return held_->current_seed(); }
  void set_current_seed(uint64_t seed) const;
  std::mutex& mutex() const { return held_->mutex_; }
  template <class T> T* get() const { return static_cast<T*>(held_.get()); }  // of no data but the object

 private:
  std::shared_ptr<GeneratorImpl> held_;
};

}  // namespace c10
