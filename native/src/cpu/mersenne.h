#pragma once
// MT19937 (Matsumoto and Nishimura, 1998): the generator of PyTorch's CPU random numbers, whose streams are the same here.
#include <cstddef>
#include <cstdint>

namespace shim {

class Mersenne {
 public:
  static constexpr size_t kStateBytes = 5056;  // of torch.Generator.get_state()

  explicit Mersenne(uint64_t seed) { restart(seed); }

  void restart(uint64_t seed);
  uint64_t seed() const { return seed_; }

  // The next n words of 32 bits.
  void words(uint32_t* out, int64_t n);
  uint64_t wide();  // two words, the first one high

  // A normal number drawn in a pair with the one before it, which waits for its turn.
  bool take_spare(double* z);
  void keep_spare(double z) { spare_ = z, spared_ = true; }

  void save(unsigned char* state) const;     // kStateBytes
  bool restore(const unsigned char* state);  // false: no state of this generator

 private:
  static constexpr int kWords = 624;
  void refill();

  uint64_t seed_;
  uint32_t state_[kWords];
  int taken_;   // of the words of this state; all: the next draw refills
  bool fresh_;  // nothing was drawn since the seed
  double spare_;
  bool spared_;
};

}  // namespace shim
