// Measured algorithms on disk: an Algo is plain bytes, valid for the same library version, GPU and driver.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <unordered_map>

#include "core/cache_folder.h"
#include "gemm/plan.h"

namespace shim::gemm {
namespace {

using Words = std::array<int64_t, 24>;

Words words_of(const PlanKey& k) {
  const GemmProblem& p = k.problem;
  return {int64_t(p.a_dtype), int64_t(p.b_dtype), int64_t(p.d_dtype), int64_t(p.bias_dtype), int64_t(p.compute), int64_t(p.epilogue),
          int64_t(p.trans_a) | int64_t(p.trans_b) << 1 | int64_t(p.accumulate) << 2 | int64_t(p.fast_accumulate) << 3, int64_t(p.scaling),
          int64_t(p.reduction_mask), p.m, p.n, p.k, p.lda, p.ldb, p.ldd, p.batch, p.stride_a, p.stride_b, p.stride_d, p.stride_bias, p.aux_ld,
          p.aux_stride, int64_t(p.sm_target), int64_t(k.alignments)};
}

struct Record {
  Words words;
  cublaslt::Algo algo;
};

struct WordsHash {
  size_t operator()(const Words& w) const {
    size_t h = 0;
    for (int64_t v : w) h = (h ^ size_t(v)) * 0x100000001b3ull + (h >> 29);
    return h;
  }
};

struct Store {
  std::mutex lock;
  std::string path;                             // empty: nothing is kept
  std::unordered_map<Words, cublaslt::Algo, WordsHash> known;
};

std::string folder() {
  if (const char* off = std::getenv("SHIM_GEMM_CACHE"); off && std::strcmp(off, "0") == 0) return {};
  return cache_folder();
}

std::string file_for(int device) {
  std::string where = folder();
  if (where.empty()) return {};
  const cuda::Driver& d = cuda::driver();
  char name[256] = {};
  int driver = 0, processors = 0;
  cuda::CUdevice handle = 0;
  d.device_get(&handle, device);
  d.device_name(name, sizeof name, handle);
  if (d.driver_version) d.driver_version(&driver);
  constexpr int kMultiprocessors = 16;
  d.device_attribute(&processors, kMultiprocessors, handle);
  for (char* c = name; *c; ++c)
    if (!std::isalnum(static_cast<unsigned char>(*c))) *c = '_';
  return where + "/cublaslt-" + std::to_string(cublaslt::library().version_number) + "-" + name + "-" + std::to_string(processors) + "-" + std::to_string(driver) +
         ".bin";
}

Store& store(int device) {
  static std::mutex lock;
  static auto* all = new std::unordered_map<int, Store*>();
  std::lock_guard<std::mutex> guard(lock);
  Store*& s = (*all)[device];
  if (s) return *s;
  s = new Store();
  s->path = file_for(device);
  if (FILE* f = s->path.empty() ? nullptr : std::fopen(s->path.c_str(), "rb")) {
    Record r;
    while (std::fread(&r, sizeof r, 1, f) == 1) s->known[r.words] = r.algo;     // a torn last record is not read
    std::fclose(f);
  }
  return *s;
}

}  // namespace

bool recall(const PlanKey& key, cublaslt::Algo* algo) {
  Store& s = store(key.device);
  std::lock_guard<std::mutex> guard(s.lock);
  auto it = s.known.find(words_of(key));
  if (it == s.known.end()) return false;
  *algo = it->second;
  return true;
}

void remember(const PlanKey& key, const cublaslt::Algo& algo) {
  Store& s = store(key.device);
  std::lock_guard<std::mutex> guard(s.lock);
  Record r{words_of(key), algo};
  s.known[r.words] = algo;
  if (s.path.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(s.path).parent_path(), ignored);
  if (FILE* f = std::fopen(s.path.c_str(), "ab")) {             // appended in one write, so that processes may share the file
    std::setvbuf(f, nullptr, _IOFBF, sizeof r);
    std::fwrite(&r, sizeof r, 1, f);
    std::fclose(f);
  }
}

}  // namespace shim::gemm
