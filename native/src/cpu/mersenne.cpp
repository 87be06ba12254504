#include "cpu/mersenne.h"

#include <algorithm>
#include <cstring>

namespace shim {
namespace {

constexpr int kFar = 397;

inline uint32_t twisted(uint32_t high, uint32_t low) {
  return (((high & 0x80000000u) | (low & 0x7fffffffu)) >> 1) ^ ((low & 1u) ? 0x9908b0dfu : 0u);
}

inline uint32_t tempered(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

// What torch.Generator.get_state() holds, field by field.
struct State {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next, words[624];
  double normal_x, normal, normal_rho;
  int32_t has_normal;
  float short_normal;
  bool has_short_normal;
};
static_assert(sizeof(State) == Mersenne::kStateBytes);

}  // namespace

void Mersenne::restart(uint64_t seed) {
  seed_ = seed;
  state_[0] = uint32_t(seed);
  for (int i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + uint32_t(i);
  taken_ = kWords;
  fresh_ = true;
  spared_ = false;
  spare_ = 0;
}

void Mersenne::refill() {
  uint32_t* s = state_;
  for (int i = 0; i < kWords - kFar; ++i) s[i] = s[i + kFar] ^ twisted(s[i], s[i + 1]);
  for (int i = kWords - kFar; i < kWords - 1; ++i) s[i] = s[i + kFar - kWords] ^ twisted(s[i], s[i + 1]);
  s[kWords - 1] = s[kFar - 1] ^ twisted(s[kWords - 1], s[0]);
  taken_ = 0;
  fresh_ = false;
}

void Mersenne::words(uint32_t* out, int64_t n) {
  while (n) {
    if (taken_ == kWords) refill();
    const int many = int(std::min<int64_t>(n, kWords - taken_));
    const uint32_t* from = state_ + taken_;
    for (int i = 0; i < many; ++i) out[i] = tempered(from[i]);
    taken_ += many, out += many, n -= many;
  }
}

uint64_t Mersenne::wide() {
  uint32_t w[2];
  words(w, 2);
  return uint64_t(w[0]) << 32 | w[1];
}

bool Mersenne::take_spare(double* z) {
  if (!spared_) return false;
  *z = spare_;
  spared_ = false;
  return true;
}

void Mersenne::save(unsigned char* out) const {
  State s;
  std::memset(static_cast<void*>(&s), 0, sizeof s);
  s.seed = seed_;
  s.seeded = 1;
  s.left = kWords + 1 - taken_;
  s.next = fresh_ ? 0 : uint64_t(taken_);
  std::copy(state_, state_ + kWords, s.words);
  s.normal = spared_ ? spare_ : 0;
  s.has_normal = spared_;
  std::memcpy(out, &s, sizeof s);
}

bool Mersenne::restore(const unsigned char* in) {
  State s;
  std::memcpy(&s, in, sizeof s);
  const bool fresh = s.left == 1 && s.next == 0;
  if (!s.seeded || s.left < 1 || s.left > kWords || (!fresh && s.next != uint64_t(kWords + 1 - s.left))) return false;
  seed_ = s.seed;
  for (int i = 0; i < kWords; ++i) state_[i] = uint32_t(s.words[i]);
  taken_ = kWords + 1 - s.left;
  fresh_ = fresh;
  spare_ = s.normal;
  spared_ = s.has_normal != 0;
  return true;
}

}  // namespace shim
