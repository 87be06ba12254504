// Measured algorithms on disk: an Algo is plain bytes, valid for the same library version, GPU and driver.
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/cache_folder.h"
#include "gemm/plan.h"

namespace shim::gemm {
namespace {

using Words = std::array<int64_t, 24>;

Words words_of(const PlanKey& k) {
  const GemmProblem& p = k.problem;
  return {int64_t(p.a_dtype), int64_t(p.b_dtype), int64_t(p.d_dtype), int64_t(p.bias_dtype), int64_t(p.compute),
      int64_t(p.epilogue),
      int64_t(p.trans_a) | int64_t(p.trans_b) << 1 | int64_t(p.accumulate) << 2 | int64_t(p.fast_accumulate) << 3,
      int64_t(p.scaling), int64_t(p.reduction_mask), p.m, p.n, p.k, p.lda, p.ldb, p.ldd, p.batch, p.stride_a,
      p.stride_b, p.stride_d, p.stride_bias, p.aux_ld, p.aux_stride, int64_t(p.sm_target), int64_t(k.alignments)};
}

struct Record {
  Words words;
  cublaslt::Algo algo;
  uint64_t checksum;  // of both, and of the file's name, which says for what they hold
};

uint64_t checksum_of(const Record& r, const std::string& name) {
  return digest({reinterpret_cast<const char*>(&r), offsetof(Record, checksum)}, digest(name));
}

struct WordsHash {
  size_t operator()(const Words& w) const {
    size_t h = 0;
    for (int64_t v : w) h = (h ^ size_t(v)) * 0x100000001b3ull + (h >> 29);
    return h;
  }
};

struct Store {
  std::mutex lock;
  std::string folder, name;  // empty: nothing is kept
  std::unordered_map<Words, cublaslt::Algo, WordsHash> known;
};

std::string folder() {
  if (const char* off = std::getenv("SHIM_GEMM_CACHE"); off && std::strcmp(off, "0") == 0) return {};
  return cache_folder();
}

std::string file_for(int device) {
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
  return "cublaslt-" + std::to_string(cublaslt::library().version_number) + "-" + name + "-" +
         std::to_string(processors) + "-" + std::to_string(driver) + ".bin";
}

// A file with a record that is not whole is written again without it.
void read(Store& s) {
  const PrivateFolder folder(s.folder);
  if (!usable(folder)) return s.folder.clear();
  const std::string bytes = folder.read(s.name);
  std::string whole;
  for (size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    Record r;
    std::memcpy(static_cast<void*>(&r), bytes.data() + at, sizeof r);
    if (r.checksum != checksum_of(r, s.name)) continue;
    s.known[r.words] = r.algo;
    whole.append(bytes, at, sizeof r);
  }
  if (whole.size() != bytes.size()) folder.write(s.name, whole);
}

Store& store(int device) {
  static std::mutex lock;
  static auto* all = new std::unordered_map<int, Store*>();
  std::lock_guard<std::mutex> guard(lock);
  Store*& s = (*all)[device];
  if (s) return *s;
  s = new Store();
  s->folder = folder();
  if (s->folder.empty()) return *s;
  s->name = file_for(device);
  read(*s);
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
  Record r{words_of(key), algo, 0};
  r.checksum = checksum_of(r, s.name);
  s.known[r.words] = algo;
  if (s.folder.empty()) return;
  const PrivateFolder folder(s.folder);
  if (usable(folder)) folder.append(s.name, {reinterpret_cast<const char*>(&r), sizeof r});
}

}  // namespace shim::gemm
