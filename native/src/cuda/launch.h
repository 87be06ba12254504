#pragma once
// What the launchers of our kernels share: finding a compiled kernel, launching it, the shape of its loads.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "cuda/driver.h"

namespace shim::cuda {

constexpr int64_t kGridBlocks = 1 << 20;  // of a grid whose threads do more in turns
constexpr int64_t kFullBlocks = 132 * 4;  // about what fills a large GPU

struct Family {      // programs of one source, told apart by their macros
  const char* name;  // of the file in cuda/kernels, without its ending
};

// The kernel `entry` of the family for these macros ("OP=sum"), found again by `key`, which must be another one for other macros.
// Null if it cannot be compiled.
template <class F> CUfunction find_kernel(const Family&, const char* entry, uint64_t key, int device, F&& macros);
CUfunction known_kernel(const Family&, const char* entry, uint64_t key, int device, bool* known);
CUfunction compiled_kernel(const Family&, const char* entry, uint64_t key, int device, std::vector<std::string> macros);

template <class F>
CUfunction find_kernel(const Family& family, const char* entry, uint64_t key, int device, F&& macros) {
  bool known = false;
  const CUfunction f = known_kernel(family, entry, key, device, &known);
  return known ? f : compiled_kernel(family, entry, key, device, macros());
}

inline int64_t blocks_for(int64_t n) {
  return n > kGridBlocks * 256 ? kGridBlocks : (n + 255) / 256;
}  // of 256 threads
inline void* data_or_null(const Tensor& t) { return t ? t->data() : nullptr; }
Tensor contiguous_or_null(const Tensor&);

// Small numbers packed into a key, 6 bits each.
template <class... T> uint64_t key_of(T... parts) {
  uint64_t key = 0;
  ((key = key << 6 | uint64_t(parts)), ...);
  return key;
}

// The unsigned type of `bytes` bytes (1, 2, 4, 8 or 16), for kernels that only move words.
const char* word_type(int64_t bytes);

void launch(CUfunction, int64_t blocks_x, int64_t blocks_y, int threads_x, int threads_y, void** arguments, int device,
    unsigned shared_bytes = 0);
// On a stream that is not the current one, of the device that is.
void launch_on(CUstream, CUfunction, int64_t blocks, int threads, void** arguments);
// How many elements of `size` bytes one load of at most 16 bytes takes from here; a power of two.
int vector_of(const void* data, size_t size);
// The same for rows of `cols` elements that each begin with a whole load.
int vector_for(int64_t cols, std::initializer_list<const Tensor*> tensors);
int threads_for(int64_t work);  // a multiple of 32 from 32 to 1024
bool kernels_ready();           // a driver is there, and an NVRTC or a pack of compiled kernels
DType compute_dtype(DType);     // float32 for the narrow ones
bool has_kernel(DType);         // an element type that kernels can compute with

constexpr int64_t kMostBlocks = 0x7fffffff, kMostRows = 65535;  // of a grid's x, and of its y
struct Cut {
  int64_t outer, n, inner;
};
Cut cut_at(const Tensor& t, int64_t dim);  // the sizes before a dimension, its own, and those after

// What the compiler says of a family's program with these macros; empty when it compiles. Needs NVRTC and no GPU.
std::string compile_family(std::string_view family, std::vector<std::string> macros, int architecture);

}  // namespace shim::cuda
