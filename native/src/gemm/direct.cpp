#include "gemm/direct.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "gemm/capture.h"
#include "gemm/plan.h"

namespace shim::gemm {

using namespace cuda;
using Pointers = std::array<uint64_t, DirectLaunch::kOperands>;

namespace {

void *const kBufferPointer = reinterpret_cast<void*>(1), *const kBufferSize =
                                                             reinterpret_cast<void*>(2);  // of packed parameters

uint64_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

Pointers pointers_of(const GemmBuffers& g, const void* work) {
  return {address(g.a), address(g.b), address(g.d), address(g.bias), address(g.aux), address(g.scale_a),
      address(g.scale_b), address(work)};
}

GemmBuffers buffers_at(const Pointers& p) {
  const auto at = [&](int i) { return reinterpret_cast<void*>(p[size_t(i)]); };
  return {.a = at(0),
      .b = at(1),
      .d = at(2),
      .bias = at(3),
      .aux = at(4),
      .scale_a = static_cast<float*>(at(5)),
      .scale_b = static_cast<float*>(at(6))};
}

// Other addresses, as aligned as a plan's key tells (256 bytes); each operand is moved by a distance of its own, in the low or the high bits.
Pointers moved(const Pointers& from, bool far) {
  Pointers to = from;
  for (uint64_t i = 0; i < to.size(); ++i) {
    const uint64_t high = (i * 5 + 1) << 32, low = (i + 1) * (far ? (i + 3) * 0x11300 : 0x10100);
    if (to[i]) to[i] += low + (!far ? 0 : to[i] >> 46 ? -high : high);  // within the addresses a device has
  }
  return to;
}

uint64_t word_at(const std::vector<unsigned char>& bytes, size_t offset) {
  uint64_t w;
  std::memcpy(&w, bytes.data() + offset, sizeof w);
  return w;
}

// The outputs of a problem in memory of their own, twice: what the library writes and what the direct launch writes.
class Twin {
 public:
  Twin(const GemmProblem& p, const GemmBuffers& given, CUstream stream) : given_(given), stream_(stream) {
    const bool grads = p.epilogue == Epilogue::bgrad_a || p.epilogue == Epilogue::bgrad_b ||
                       p.epilogue == Epilogue::drelu_bgrad || p.epilogue == Epilogue::dgelu_bgrad;
    const bool keeps = p.epilogue == Epilogue::gelu_aux || p.epilogue == Epilogue::gelu_aux_bias ||
                       p.epilogue == Epilogue::relu_aux || p.epilogue == Epilogue::relu_aux_bias;
    d_ = result_bytes(p);
    bias_ = grads ? size_t(std::max(p.m, p.n)) * 8 : 0;
    aux_ =
        keeps ? (size_t(p.batch - 1) * size_t(p.aux_stride) + size_t(p.n) * size_t(p.aux_ld)) * itemsize(p.d_dtype) : 0;
    aux_at_ = up(d_);
    bias_at_ = aux_at_ + up(aux_);
    total_ = bias_at_ + up(bias_);
    if (driver().mem_alloc_async(&memory_, 2 * total_, stream) != 0) memory_ = 0;
    // No zeros, and no NaNs where what is there is read: a number in every dtype.
    if (memory_) driver().memset_async(memory_, 0x3c, 2 * total_, stream);
  }
  Twin(const Twin&) = delete;
  ~Twin() {
    if (memory_) driver().mem_free_async(memory_, stream_);
  }

  bool ready() const { return memory_ != 0; }
  GemmBuffers buffers(int which) const {
    GemmBuffers to = given_;
    const CUdeviceptr base = memory_ + CUdeviceptr(which) * total_;
    to.d = reinterpret_cast<void*>(base);
    if (aux_) to.aux = reinterpret_cast<void*>(base + aux_at_);
    if (bias_) to.bias = reinterpret_cast<void*>(base + bias_at_);
    return to;
  }
  bool equal() const {
    std::vector<unsigned char> host(2 * total_);
    if (driver().memcpy_async(reinterpret_cast<CUdeviceptr>(host.data()), memory_, host.size(), stream_) != 0)
      return false;
    return driver().stream_synchronize(stream_) == 0 && std::memcmp(host.data(), host.data() + total_, total_) == 0;
  }

 private:
  static size_t up(size_t n) { return (n + 511) / 512 * 512; }
  GemmBuffers given_;
  CUstream stream_;
  CUdeviceptr memory_ = 0;
  size_t d_ = 0, aux_ = 0, bias_ = 0, aux_at_ = 0, bias_at_ = 0, total_ = 0;
};

// Zeros of one stream, a piece for each launch that needs some; all are zeroed again once they have been used.
class Zeros {
 public:
  static constexpr size_t kPiece = 4096, kPieces = 128;
  std::mutex lock;                     // held until the launch that uses the piece is made
  CUdeviceptr next(CUstream stream) {  // 0: none to be had
    const Driver& driver = cuda::driver();
    if (!memory_ && driver.mem_alloc(&memory_, kPiece * kPieces) != 0) return memory_ = 0;
    if (used_ == kPieces && driver.memset_async(memory_, 0, kPiece * kPieces, stream) != 0) return 0;
    if (used_ == kPieces) used_ = 0;
    return memory_ + kPiece * used_++;
  }

 private:
  CUdeviceptr memory_ = 0;
  size_t used_ = kPieces;
};

Zeros& zeros_of(int device, CUstream stream) {
  struct Last {
    int device = -1;
    CUstream stream = nullptr;
    Zeros* zeros = nullptr;
  };
  static thread_local Last last;
  if (!last.zeros || last.device != device || last.stream != stream) {
    static std::mutex lock;
    static auto* all = new std::map<std::pair<int, CUstream>, Zeros>();
    std::lock_guard<std::mutex> guard(lock);
    last = {device, stream, &(*all)[{device, stream}]};
  }
  return *last.zeros;
}

}  // namespace

// The kernels of the three sets as one, with the words that follow the operands.
std::string DirectLaunch::explain(
    const std::vector<Kernel>& all, const std::vector<std::array<uint64_t, kOperands>>& sets) {
  const size_t count = all.size() / sets.size();
  if (all.size() % sets.size()) return "the launches differ in number";
  const Pointers& real = sets[0];
  for (size_t i = 0; i < count; ++i) {
    Kernel k = all[count + i];  // the second set shows how the first kernel follows what was before it
    const Kernel &first = all[i], &third = all[2 * count + i];
    for (const Kernel* other : {&first, &third})
      if (other->function != k.function || !std::equal(k.grid, k.grid + 3, other->grid) ||
          !std::equal(k.block, k.block + 3, other->block) || other->shared_bytes != k.shared_bytes ||
          other->offsets != k.offsets || other->size != k.size || other->bytes.size() != k.bytes.size())
        return "the launch depends on the addresses";
    for (size_t at = 0; at < k.bytes.size(); at += 8) {
      const uint64_t one = word_at(first.bytes, at), two = word_at(k.bytes, at), three = word_at(third.bytes, at);
      if (one == two && one == three) continue;
      size_t o = 0;
      while (o < kOperands && !(real[o] && two - one == sets[1][o] - real[o] && three - one == sets[2][o] - real[o]))
        ++o;
      if (o == kOperands) {
        char words[96];
        snprintf(words, sizeof words, " is no operand: %llx, %llx, %llx", (unsigned long long)one,
            (unsigned long long)two, (unsigned long long)three);
        return "kernel " + std::to_string(i) + ": the word at " + std::to_string(at) + words;
      }
      k.patches.push_back({uint16_t(at), uint8_t(o), one - real[o]});
    }
    kernels_.push_back(std::move(k));
  }
  return replace_zeroing();
}

// A counter that the library sets to zero before its kernel: a piece of zeros instead, if nothing else of the workspace is used.
std::string DirectLaunch::replace_zeroing() {
  if (std::none_of(kernels_.begin(), kernels_.end(), [](const Kernel& k) { return !k.function; })) return {};
  const Kernel set = kernels_[0];
  kernels_.erase(kernels_.begin());
  if (set.function || set.patches.size() != 1 || set.patches[0].operand != work || set.patches[0].offset != 0)
    return "a memory set elsewhere";
  zero_from_ = set.patches[0].add;
  zero_bytes_ = word_at(set.bytes, 8);
  if (zero_bytes_ > Zeros::kPiece) return "a memory set of " + std::to_string(zero_bytes_) + " bytes";
  for (const Kernel& k : kernels_) {
    if (!k.function) return "several memory sets";
    for (const Patch& p : k.patches)
      if (p.operand == work && p.add - zero_from_ >= zero_bytes_) return "a memory set within a workspace";
  }
  return {};
}

std::unique_ptr<DirectLaunch> DirectLaunch::make(const Plan& plan, int candidate, const GemmBuffers& given,
    const Scalars& scalars, void* memory, CUstream stream, std::string& why) {
  const Pointers real = pointers_of(given, memory);
  const std::vector<Pointers> sets{real, moved(real, false), moved(real, true)};
  std::vector<GemmBuffers> buffers;
  std::vector<void*> works;
  for (const Pointers& p : sets) {
    buffers.push_back(buffers_at(p));
    works.push_back(reinterpret_cast<void*>(p[work]));
  }
  // The last set on another stream: what the library might keep by stream would be no operand either.
  Capture two, last;
  std::vector<Kernel> all;
  auto direct = std::unique_ptr<DirectLaunch>(new DirectLaunch(plan.key.device));
  if (!(why = two.record(plan, candidate, {buffers[0], buffers[1]}, {works[0], works[1]}, scalars)).empty() ||
      !(why = two.kernels(all)).empty() ||
      !(why = last.record(plan, candidate, {buffers[2]}, {works[2]}, scalars)).empty() ||
      !(why = last.kernels(all)).empty() || !(why = direct->explain(all, sets)).empty())
    return nullptr;
  Twin twin(plan.key.problem, given, stream);
  if (!twin.ready()) {
    why = "no memory to verify it";
    return nullptr;
  }
  const bool ran = run_plan(plan, candidate, twin.buffers(0), scalars, memory, stream) == cublaslt::kSuccess &&
                   direct->run(twin.buffers(1), memory, stream);
  if (!ran || !twin.equal()) {
    why = ran ? "other bits than the library's" : "the driver refuses the launch";
    return nullptr;
  }
  why = direct->text();
  return direct;
}

bool DirectLaunch::run(const GemmBuffers& buffers, void* memory, CUstream stream) const {
  Pointers now = pointers_of(buffers, memory);
  std::unique_lock<std::mutex> guard;
  if (zero_bytes_) {
    Zeros& zeros = zeros_of(device_, stream);
    guard = std::unique_lock<std::mutex>(zeros.lock);
    const CUdeviceptr piece = zeros.next(stream);
    if (!piece) return false;
    now[work] = piece - zero_from_;
  }
  alignas(64) unsigned char bytes[kMostBytes];
  void* parameters[kMostParameters];
  for (const Kernel& k : kernels_) {
    std::memcpy(bytes, k.bytes.data(), k.bytes.size());
    for (const Patch& p : k.patches) {
      const uint64_t word = now[p.operand] + p.add;
      std::memcpy(bytes + p.offset, &word, sizeof word);
    }
    for (size_t i = 0; i < k.offsets.size(); ++i) parameters[i] = bytes + k.offsets[i];
    size_t size = k.size;
    void* packed[] = {kBufferPointer, bytes, kBufferSize, &size, nullptr};
    const bool given = !k.offsets.empty();
    LaunchConfig config{.shared_bytes = k.shared_bytes,
        .stream = stream,
        .attributes = const_cast<LaunchAttribute*>(k.attributes.data()),
        .count = unsigned(k.attributes.size())};
    std::copy_n(k.grid, 3, config.grid);
    std::copy_n(k.block, 3, config.block);
    if (driver().launch_ex(&config, k.function, given ? parameters : nullptr, given ? nullptr : packed) != 0)
      return false;
  }
  return true;
}

std::string DirectLaunch::text() const {
  std::string t = std::to_string(kernels_.size()) + (kernels_.size() == 1 ? " kernel" : " kernels");
  for (const Kernel& k : kernels_) {
    t += "; " + (k.size ? std::string("packed") : std::to_string(k.offsets.size())) + " parameters, " +
         std::to_string(k.bytes.size()) + " bytes, " + std::to_string(k.patches.size()) + " pointers";
    for (const LaunchAttribute& a : k.attributes) t += ", attribute " + std::to_string(a.id);
  }
  if (zero_bytes_) t += "; " + std::to_string(zero_bytes_) + " bytes of zeros";
  return t;
}

}  // namespace shim::gemm
