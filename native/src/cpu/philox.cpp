// The words of random numbers on the CPU; shim_torch/_impl/tensor/generator.py has the same in NumPy's and CuPy's terms.
#include "cpu/philox.h"
#include "cpu/parallel.h"

namespace shim {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int64_t kBlocksAThread = 8192;

void block(uint64_t seed, uint64_t counter, uint32_t* out) {
  uint32_t c0 = uint32_t(counter), c1 = uint32_t(counter >> 32), c2 = 0, c3 = 0;
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(kMultiplier0) * c0, p1 = uint64_t(kMultiplier1) * c2;
    c0 = uint32_t(p1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(p1);
    c2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

}  // namespace

void philox_words(uint64_t seed, uint64_t offset, int64_t blocks, uint32_t* out) {
  parallel_for(blocks, kBlocksAThread, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) block(seed, offset + uint64_t(i), out + 4 * i);
  });
}

}  // namespace shim
