#include "cuda/transpose.h"

#include <algorithm>

#include "cuda/entries/transpose.h"

namespace shim::cuda {
namespace {

constexpr int kOthers = 8, kSmallest = 16;  // dimensions besides the two; sizes below which tiles would be mostly empty

const Family transpose_family{"transpose"};

struct Tiles {
  int64_t a, b, out_a, src_b, size[kOthers], out[kOthers], src[kOthers];
  int dims;
};  // of transpose.cuh

// The dimension along which the operand's neighbours are, of at least kSmallest; or -1.
int contiguous_dim(const Nest& nest, int operand, int64_t size) {
  for (int d = 0; d < nest.dims; ++d)
    if (nest.steps[operand][d] == size && nest.sizes[d] >= kSmallest) return d;
  return -1;
}

// How many elements one access can have: all rows begin at such a multiple, and are whole.
int access_of(const Nest& nest, int a, int b, int64_t size) {
  int v = size <= 2 ? int(4 / size) : 1;
  const auto whole = [&](int64_t bytes) { return bytes % (v * size) == 0; };
  while (v > 1) {
    bool fits = nest.sizes[a] % v == 0 && nest.sizes[b] % v == 0;
    for (int k = 0; k < 2; ++k) {
      fits = fits && whole(int64_t(reinterpret_cast<uintptr_t>(nest.data[k])));
      for (int d = 0; d < nest.dims; ++d) fits = fits && (d == (k ? a : b) || whole(nest.steps[k][d]));
    }
    if (fits) break;
    v /= 2;
  }
  return v;
}

}  // namespace

bool copy_transposed(const Nest& nest, size_t bytes, int device) {
  const int64_t size = int64_t(bytes);
  const int a = contiguous_dim(nest, 1, size), b = contiguous_dim(nest, 0, size);
  if (a < 0 || b < 0 || a == b || nest.dims > kOthers + 2 || !kernels_ready()) return false;
  Tiles g{};
  g.a = nest.sizes[a];
  g.b = nest.sizes[b];
  g.out_a = nest.steps[0][a] / size;
  g.src_b = nest.steps[1][b] / size;
  const int v = access_of(nest, a, b, size), side = size <= 4 ? std::max(64, 32 * v) : 32;
  int64_t blocks = ((g.a + side - 1) / side) * ((g.b + side - 1) / side);
  for (int d = 0; d < nest.dims; ++d) {
    if (d == a || d == b) continue;
    g.size[g.dims] = nest.sizes[d];
    g.out[g.dims] = nest.steps[0][d] / size;
    g.src[g.dims++] = nest.steps[1][d] / size;
    blocks *= nest.sizes[d];
  }
  if (blocks > kMostBlocks) return false;
  const auto f = find_kernel<entries::transpose::transpose>(transpose_family, key_of(size, v), device, [&] {
    return std::vector<std::string>{
        std::string("ELEMENT=") + word_type(size), "V=" + std::to_string(v), "SIDE=" + std::to_string(side)};
  });
  if (!f) return false;
  launch(f, {blocks}, device, nest.data[0], nest.data[1], g);
  return true;
}

}  // namespace shim::cuda
