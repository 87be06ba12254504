// Tensors, and modes of the thread, for C++ extensions.
#include "abi/extension_cells.h"
#include "abi/extension_errors.h"
#include "autograd/attributes.h"
#include "core/interpreter_lock.h"
#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "cuda/driver.h"

using namespace shim;

namespace {

TensorImpl& defined(const ShimTensor* t) {
  CHECK(Kind::Runtime, abi::is_defined(handle_in(t)),
      "Expected a proper Tensor but got None (or an undefined Tensor in C++)");
  return *handle_in(t);
}

int64_t fact(TensorImpl& t, int what, int64_t value) {
  switch (what) {
    case SHIM_IS_CONTIGUOUS: return t.is_contiguous(MemoryFormat(value));
    case SHIM_REQUIRES_GRAD: return t.requires_grad();
    case SHIM_IS_LEAF: return !t.autograd() || !t.autograd()->grad_fn;
    case SHIM_VERSION: return t.version();
    case SHIM_BUMP_VERSION: t.bump_version(); return 0;
    case SHIM_IS_PINNED: return t.storage()->pinned;
    case SHIM_USES: return int64_t(t.use_count());
    case SHIM_LAYOUT_OF: return is_sparse(t) ? int64_t(sparse_parts(t)->layout) : 0;
    case SHIM_STORAGE_BYTES: return int64_t(t.storage()->nbytes());
    case SHIM_SET_REQUIRES_GRAD:
      set_requires_grad(t, value, "only Tensors of floating point and complex dtype can require gradients");
      return 0;
    default: return 0;
  }
}

}  // namespace

int shim_cxx_view(const ShimTensor* handle, ShimView* v) {
  return kept([&] {
    TensorImpl& t = defined(handle);
    *v = {t.sizes_data(), t.strides_data(), t.dim(), t.numel(), t.storage_offset(), int64_t(t.itemsize()),
        int32_t(t.dtype()), int32_t(t.device().type), int32_t(t.device().index)};
  });
}

void* shim_cxx_data(const ShimTensor* handle, int* failed) {
  void* p = nullptr;
  *failed = kept([&] {
    TensorImpl& t = defined(handle);
    own_data(*t.storage());
    t.storage()->expose();
    p = t.data();
  });
  return p;
}

int64_t shim_cxx_fact(ShimTensor* handle, int what, int64_t value) {
  int64_t answer = -1;
  kept([&] { answer = fact(defined(handle), what, value); });
  return answer;
}

int shim_cxx_default_dtype(int dtype) {
  const int was = int(default_dtype());
  if (dtype >= 0) kept([&] { cuda::before_outside(), set_default_dtype(abi::make_dtype(dtype)); });
  return was;
}

extern "C" abi::Err torch_parallel_for(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*);

int shim_cxx_parallel_for(
    int64_t begin, int64_t end, int64_t grain, void (*f)(int64_t, int64_t, void*), void* context) {
  Unlocked others_run;
  if (!torch_parallel_for(begin, end, grain, f, context)) return 0;
  keep_error(Error(Kind::Runtime, abi::last_error()));
  return -1;
}

// The versions that extensions ask for (SHIM_CXX_STAMP); the build gives this one's name.
extern "C" __attribute__((visibility("default"), used)) const int SHIM_CXX_STAMP;
const int SHIM_CXX_STAMP = SHIM_CXX_INTERFACE;
