#include "cuda/cublaslt.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>

namespace shim::cublaslt {
namespace {

LibraryFinder finder = nullptr;

template <class T>
bool reads_back(
    Status (*get)(const MatmulDesc*, int, void*, size_t, size_t*), const MatmulDesc& d, int attribute, T want) {
  T got{};
  size_t written = 0;
  return get(&d, attribute, &got, sizeof got, &written) == kSuccess && written == sizeof got && got == want;
}

std::string test_desc(const Library& l) {
  MatmulDesc d{};
  if (l.desc_init(&d, sizeof d, compute_32f_fast_tf32, r_32f) != kSuccess)
    return "a matmul descriptor of 256 bytes is refused";
  if (!reads_back<int32_t>(l.desc_get, d, desc_compute, compute_32f_fast_tf32))
    return "the compute type does not read back";
  if (!reads_back<int32_t>(l.desc_get, d, desc_scale, r_32f)) return "the scale type does not read back";
  if (!reads_back<uint32_t>(l.desc_get, d, desc_epilogue, 1)) return "the default epilogue is not 1";
  if (!reads_back<int8_t>(l.desc_get, d, desc_fast_accumulate, 0)) return "fast accumulation is not one byte";
  void* pointer = reinterpret_cast<void*>(uintptr_t(0x123456789ab0));
  int64_t ld = 128;
  if (l.desc_set(&d, desc_bias_pointer, &pointer, sizeof pointer) != kSuccess ||
      !reads_back<void*>(l.desc_get, d, desc_bias_pointer, pointer))
    return "the bias pointer does not read back";
  if (l.desc_set(&d, desc_aux_ld, &ld, sizeof ld) != kSuccess || !reads_back<int64_t>(l.desc_get, d, desc_aux_ld, ld))
    return "the aux ld does not read back";
  int32_t wrong = 4;
  if (l.desc_set(&d, desc_bias_pointer, &wrong, sizeof wrong) != kInvalidValue)
    return "an attribute of a wrong size is accepted";
  return {};
}

std::string test_layout(const Library& l) {
  MatrixLayout m{};
  if (l.layout_init(&m, sizeof m, r_16bf, 640, 48, 648) != kSuccess) return "a matrix layout of 64 bytes is refused";
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0, stride = 31104;
  int32_t type = -1, batch = 3;
  size_t n = 0;
  l.layout_get(&m, layout_rows, &rows, sizeof rows, &n);
  l.layout_get(&m, layout_cols, &cols, sizeof cols, &n);
  l.layout_get(&m, layout_ld, &ld, sizeof ld, &n);
  l.layout_get(&m, layout_type, &type, sizeof type, &n);
  if (rows != 640 || cols != 48 || ld != 648 || type != r_16bf) return "a matrix layout does not read back";
  if (l.layout_set(&m, layout_batch, &batch, sizeof batch) != kSuccess ||
      l.layout_set(&m, layout_stride, &stride, sizeof stride) != kSuccess)
    return "a batched layout is refused";
  return {};
}

std::string test_preference(const Library& l) {
  Preference p{};
  if (l.preference_init(&p, sizeof p) != kSuccess) return "a preference of 64 bytes is refused";
  uint32_t alignment = 0;
  size_t n = 0, workspace = size_t(32) << 20, back = 0;
  l.preference_get(&p, preference_align_a, &alignment, sizeof alignment, &n);
  if (alignment != 256) return "the default alignment is not 256";
  l.preference_set(&p, preference_workspace, &workspace, sizeof workspace);
  l.preference_get(&p, preference_workspace, &back, sizeof back, &n);
  return back == workspace ? std::string() : "the workspace limit does not read back";
}

bool copies_are_independent(const Library& l) {
  MatmulDesc a{}, b{};
  if (l.desc_init(&a, sizeof a, compute_32f, r_32f) != kSuccess) return false;
  uint32_t bias = 4;
  std::memcpy(&b, &a, sizeof a);
  return l.desc_set(&b, desc_epilogue, &bias, sizeof bias) == kSuccess &&
         reads_back<uint32_t>(l.desc_get, a, desc_epilogue, 1) && reads_back<uint32_t>(l.desc_get, b, desc_epilogue, 4);
}

Library find() {
  Library best;
  if (!cuda::driver().loaded) {
    best.why = cuda::driver().why;
    return best;
  }
  std::string reasons;
  for (const std::string& path : library_candidates("cublasLt")) {
    Library candidate;
    if (load_library(path, candidate)) {
      cuda::ensure_context();
      Handle h = nullptr;
      if (candidate.create(&h) == kSuccess) return candidate;
      candidate.why = path + ": cublasLtCreate failed (the driver may be too old for this major)";
    }
    reasons += (reasons.empty() ? "" : "; ") + candidate.why;
  }
  best.why = "cuBLASLt was not found: " + (reasons.empty() ? std::string("no candidate") : reasons) +
             ". Install nvidia-cublas, or set SHIM_CUBLASLT_PATH.";
  return best;
}

}  // namespace

void set_library_finder(LibraryFinder f) { finder = f; }

std::vector<std::string> library_candidates(const char* name) {
  std::vector<std::string> found;
  if (finder) found = finder(name);
  for (const char* major : {".so.13", ".so.12"}) found.push_back("lib" + std::string(name) + major);
  return found;
}

bool load_library(const std::string& path, Library& l) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    l.why = path + " could not be loaded";
    return false;
  }
  std::string missing;
#define SHIM_LOAD(member, symbol, result, types)                         \
  l.member = reinterpret_cast<result(*) types>(dlsym(library, #symbol)); \
  if (!l.member) missing = #symbol;
  SHIM_CUBLASLT(SHIM_LOAD)
#undef SHIM_LOAD
  l.path = path;
  if (!missing.empty()) {
    l.why = path + " has no " + missing;
    return false;
  }
  l.version_number = l.version();
  if (l.version_number < 120000) {
    l.why = path + " is version " + std::to_string(l.version_number) + "; 12.0 or newer is needed";
    return false;
  }
  if (std::string wrong = self_test(l); !wrong.empty()) {
    l.why = path + " has another ABI than expected: " + wrong;
    return false;
  }
  l.copyable_desc = copies_are_independent(l);
  l.loaded = true;
  return true;
}

std::string self_test(const Library& l) {
  for (auto test : {test_desc, test_layout, test_preference})
    if (std::string wrong = test(l); !wrong.empty()) return wrong;
  return {};
}

const Library& library() {
  static const Library* found = new Library(find());  // immortal, as its handles are
  return *found;
}

Handle handle(int device) {
  static std::mutex lock;
  static auto* handles = new std::vector<Handle>();
  const Library& l = library();
  if (!l.loaded || device < 0) return nullptr;
  std::lock_guard<std::mutex> guard(lock);
  if (handles->size() <= size_t(device)) handles->resize(size_t(device) + 1, nullptr);
  Handle& h = (*handles)[size_t(device)];
  if (!h) {
    cuda::OnDevice current(device);
    if (l.create(&h) != kSuccess) h = nullptr;
  }
  return h;
}

}  // namespace shim::cublaslt
