#include "cuda/launch.h"

#include <algorithm>
#include <unordered_map>

#include "cuda/elementwise.h"
#include "cuda/kernel_store.h"
#include "cuda/nvrtc.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

struct Known {
  const Family* family;
  const char* entry;  // a literal: its address identifies it
  uint64_t key;
  int device;
  bool operator==(const Known&) const = default;
};
struct KnownHash {
  size_t operator()(const Known& k) const {
    uint64_t h = reinterpret_cast<uintptr_t>(k.family) * 0x9e3779b97f4a7c15ull ^
                 reinterpret_cast<uintptr_t>(k.entry) * 0xff51afd7ed558ccdull;
    return size_t((h ^ k.key ^ uint64_t(k.device) << 60) * 0xc4ceb9fe1a85ec53ull);
  }
};
thread_local std::unordered_map<Known, CUfunction, KnownHash> kernels;

}  // namespace

CUfunction known_kernel(const Family& family, const char* entry, uint64_t key, int device, bool* known) {
  auto found = kernels.find({&family, entry, key, device});
  *known = found != kernels.end();
  return *known ? found->second : nullptr;
}

CUfunction compiled_kernel(
    const Family& family, const char* entry, uint64_t key, int device, std::vector<std::string> macros) {
  const CUfunction f = loaded_kernel(device, family.name, macros, entry);
  return kernels[{&family, entry, key, device}] = f;
}

const char* word_type(int64_t bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : bytes == 8 ? "u64" : "Wide16";
}

void launch(CUfunction f, int64_t x, int64_t y, int tx, int ty, void** arguments, int device, unsigned shared_bytes) {
  OnDevice current(device);
  const CUresult r = driver().launch(f, unsigned(x), unsigned(y), 1, unsigned(tx), unsigned(ty), 1, shared_bytes,
      current_stream(device), arguments, nullptr);
  check(r, "cuLaunchKernel");
}

void launch_on(CUstream stream, CUfunction f, int64_t blocks, int threads, void** arguments) {
  const CUresult r = driver().launch(f, unsigned(blocks), 1, 1, unsigned(threads), 1, 1, 0, stream, arguments, nullptr);
  check(r, "cuLaunchKernel");
}

int vector_of(const void* data, size_t size) {
  int v = int(16 / size);
  while (v > 1 && reinterpret_cast<uintptr_t>(data) % (size_t(v) * size)) v /= 2;
  return v;
}

int threads_for(int64_t work) {
  int threads = 32;
  while (threads < 1024 && threads < work) threads *= 2;
  return threads;
}

DType compute_dtype(DType t) { return floating(t) && t != DType::f64 ? DType::f32 : t; }
bool has_kernel(DType t) { return elementwise_dtype(t) && t != DType::f8e4m3fn && t != DType::f8e5m2; }

int vector_for(int64_t cols, std::initializer_list<const Tensor*> tensors) {
  int v = 16;
  for (const Tensor* t : tensors) v = std::min(v, vector_of((*t)->data(), (*t)->itemsize()));
  while (v > 1 && cols % v) v /= 2;
  return v;
}

Tensor contiguous_or_null(const Tensor& t) { return t ? contiguous(t) : t; }

Cut cut_at(const Tensor& t, int64_t dim) {
  Cut c{1, t->dim() ? t->sizes()[size_t(dim)] : 1, 1};
  for (int i = 0; i < t->dim(); ++i)
    if (i != dim) (i < dim ? c.outer : c.inner) *= t->sizes()[size_t(i)];
  return c;
}

std::string compile_family(std::string_view family, std::vector<std::string> macros, int architecture) {
  const nvrtc::Compiled c = nvrtc::compile(Specialisation::of(family, macros), architecture);
  return c.cubin.empty() ? c.log : "";
}

const char* not_floats(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* one : tensors) {
    if (!*one) continue;
    const TensorImpl& t = **one;
    if (!floating(t.dtype())) return kOtherDtype.reason;
    if (!t.numel()) return kNoElements.reason;
    if (t.has_math_bits()) return "negative or conjugate bits";
  }
  return nullptr;
}

bool kernels_ready() { return driver().loaded && driver().launch && kernels_to_be_had(); }

}  // namespace shim::cuda
