// The measured choice among cuBLASLt's candidates for one problem.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>

#include "gemm/plan.h"
#include "ops/gemm_settings.h"

namespace shim::gemm {
namespace {

using namespace cuda;

constexpr size_t kFlush =
    size_t(96) << 20;  // more than the second-level cache: candidates start cold, and the host gets ahead
constexpr int kFewest = 3, kMost = 48;  // rounds
constexpr double kBudget = 20;          // milliseconds of the best candidate's runs
constexpr double kHopeless = 1.25, kBehind = 1.04,
                 kClose = 1.02;  // times the best: not measured again, after one round, some and many
// Times the best: as fast as can be told, of a launch and of what takes longer than 30 microseconds.
constexpr double kAsGood = 1.015, kAsGoodLong = 1.004, kLong = 0.03;
// Times the best, for the library's first guess: of the shortest products a trial is off by several percent (what looked 7% faster in
// 7 microseconds was 3% slower in use), and the guess is seldom wrong.
constexpr double kFirstShort = 1.08, kFirstMiddle = 1.03, kShort = 0.015;
constexpr double kSooner = 1;  // microseconds on the host that make a difference

struct DeviceMemory {
  CUdeviceptr p = 0;
  CUstream stream;
  DeviceMemory(size_t bytes, CUstream s) : stream(s) {
    if (!bytes || driver().mem_alloc_async(&p, bytes, s) != 0) p = 0;
  }
  ~DeviceMemory() {
    if (p) driver().mem_free_async(p, stream);
  }
  DeviceMemory(const DeviceMemory&) = delete;
};

struct Event {
  CUevent e = nullptr;
  Event() { driver().event_create(&e, 0); }
  ~Event() {
    if (e) driver().event_destroy(e);
  }
  Event(const Event&) = delete;
};

double median(std::vector<float> v) {
  if (v.empty()) return 1e30;
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// One of the ways to compute something, and what it took so far.
struct Runner {
  int number;
  Event begin, end;
  std::vector<float> times, host;  // milliseconds on the device, microseconds to enqueue
  bool out = false;                // failed, or too slow to be looked at again
  double time() const { return out && times.empty() ? 1e30 : median(times); }
};

class Race {
 public:
  // `run` enqueues a way by its number. Way 0 is kept where the best of those before `favoured_before` is no faster.
  Race(int ways, int favoured_before, std::function<bool(int)> run, CUstream stream)
      : favoured_before_(favoured_before), run_(std::move(run)), stream_(stream), flush_(kFlush, stream) {
    for (int i = 0; i < ways; ++i) {
      runners_.push_back(std::make_unique<Runner>());
      runners_.back()->number = i;
    }
  }

  // The number of the best; -1: nothing could be measured.
  int best() {
    if (!flush_.p) return -1;
    for (auto& r : runners_) r->out = !run_(r->number);
    if (!round()) return -1;
    for (auto& r : runners_) r->times.clear();  // the first round pays for loading kernels
    if (!round()) return -1;
    drop(kHopeless);
    const int rounds = int(std::clamp(kBudget / std::max(fastest(), 1e-6), double(kFewest), double(kMost)));
    for (int i = 1; i < rounds; ++i) {
      if (!round()) return -1;
      if (i == 4 || i == 10) drop(kBehind);
      if (i == 20) drop(kClose);
    }
    return choice();
  }

  std::vector<Trial> trials() const {
    std::vector<Trial> all(runners_.size());
    for (auto& r : runners_)
      if (!r->times.empty()) all[size_t(r->number)] = {float(median(r->times) * 1e3), float(median(r->host))};
    return all;
  }

 private:
  // Each once, in another order every time; the host is ahead of the device, so that its pace is not measured.
  bool round() {
    const Driver& d = driver();
    std::shuffle(runners_.begin(), runners_.end(), shuffler_);
    Runner* last = nullptr;
    for (auto& r : runners_) {
      if (r->out) continue;
      d.memset_async(flush_.p, 0, kFlush, stream_);
      d.event_record(r->begin.e, stream_);
      const auto start = std::chrono::steady_clock::now();
      if (!run_(r->number)) r->out = true;
      r->host.push_back(std::chrono::duration<float, std::micro>(std::chrono::steady_clock::now() - start).count());
      d.event_record(r->end.e, stream_);
      last = r.get();
    }
    if (!last || d.event_synchronize(last->end.e) != 0) return false;
    for (auto& r : runners_) {
      float ms = 0;
      if (r->out) continue;
      if (d.event_elapsed(&ms, r->begin.e, r->end.e) != 0) return false;
      r->times.push_back(ms);
    }
    return true;
  }

  double fastest() const {
    double t = 1e30;
    for (auto& r : runners_) t = std::min(t, r->time());
    return t;
  }

  void drop(double times) {
    const double limit = times * fastest();
    for (auto& r : runners_) r->out = r->out || r->time() > limit;
  }

  // The fastest; of those that are as fast, one that is enqueued clearly sooner (it launches fewer kernels). The first guess stands
  // where what is faster is so by less than can be told, and is not enqueued clearly sooner.
  int choice() const {
    const Runner *best = nullptr, *first = nullptr;
    for (auto& r : runners_) {
      if (r->number == 0) first = r.get();
      if (!r->out && (!best || r->time() < best->time())) best = r.get();
    }
    if (!best) return -1;
    const double fastest = best->time();
    const Runner* chosen = best;
    for (auto& r : runners_)
      if (!r->out && r->time() <= fastest * (fastest > kLong ? kAsGoodLong : kAsGood) &&
          median(chosen->host) - median(r->host) > kSooner)
        chosen = r.get();
    const double allowed = fastest > kLong ? kAsGoodLong : fastest > kShort ? kFirstMiddle : kFirstShort;
    const bool stands = best->number < favoured_before_ && !first->times.empty() && first->time() <= fastest * allowed;
    return stands && median(first->host) - median(chosen->host) < kSooner ? 0 : chosen->number;
  }

  int favoured_before_;
  std::function<bool(int)> run_;
  CUstream stream_;
  DeviceMemory flush_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::minstd_rand shuffler_{12345};
};

}  // namespace

size_t result_bytes(const GemmProblem& p) {
  return (size_t(p.batch - 1) * size_t(p.stride_d) + size_t(p.n - 1) * size_t(p.ldd) + size_t(p.m)) *
         itemsize(p.d_dtype);
}

void tune(Plan& plan, const GemmBuffers& given, const Scalars& scalars, void* work, CUstream stream) {
  if (plan.tuned.exchange(true)) return;
  const GemmProblem& p = plan.key.problem;
  GemmBuffers buffers = given;
  const DeviceMemory scratch(p.accumulate ? result_bytes(p) : 0, stream);
  if (p.accumulate && !scratch.p) return;
  if (scratch.p) buffers.d = reinterpret_cast<void*>(scratch.p);  // D is read: trials must not add to it
  const int library = int(plan.candidates.size());
  const auto run = [&](int way) {
    if (way == library) return skinny_run(plan.skinny, plan.key.device, p, buffers, stream);
    return run_plan(plan, way, buffers, scalars, work, stream) == cublaslt::kSuccess;
  };
  Race race(library + (plan.skinny != Skinny::none), library, run, stream);
  const int best = race.best();
  plan.trials = race.trials();
  if (best < 0) return;
  ++counters().tuned;
  if (best == library) {
    plan.own_kernel = true;  // measured again in every process: only the library's choices are kept on disk
    return;
  }
  plan.chosen = best;
  remember(plan.key, plan.candidates[size_t(best)].algo);
}

namespace {

constexpr double kHostBound = 1e11;  // multiplications: beyond, the device takes longer than the host by far
constexpr size_t kMostVerified = size_t(64) << 20;

void try_direct(Plan& plan, const GemmBuffers& given, const Scalars& scalars, void* work, CUstream stream) {
  const GemmProblem& p = plan.key.problem;
  const int chosen = plan.chosen;
  if (plan.own_kernel) {
    plan.note = "our own kernel";
  } else if (double(p.m) * double(p.n) * double(p.k) * double(p.batch) > kHostBound ||
             result_bytes(p) > kMostVerified) {
    plan.note = "the device takes longer than the host";
  } else if (auto direct = DirectLaunch::make(plan, chosen, given, scalars, work, stream, plan.note)) {
    plan.direct.store(direct.release(), std::memory_order_release);
  }
}

}  // namespace

// At the third use: by then both of a program's first two iterations were served without a wait.
void settle(
    Plan& plan, const GemmBuffers& given, const Scalars& scalars, bool plain_scalars, void* work, CUstream stream) {
  const Settings& s = settings();
  if (plan.uses.fetch_add(1, std::memory_order_relaxed) < 2 || s.deterministic || !(s.tuning || s.direct) ||
      capturing(stream))
    return;
  if (plan.settled.exchange(true)) return;
  if (s.tuning) tune(plan, given, scalars, work, stream);
  if (s.direct && plain_scalars) try_direct(plan, given, scalars, work, stream);
  plan.settled_note = true;
}

bool worth_fusing(
    int device, const GemmProblem& fused, const GemmBuffers& buffers, const std::function<bool(bool)>& run) {
  const Settings& s = settings();
  if (s.deterministic || !cublaslt::library().loaded || std::max({fused.m, fused.n, fused.k}) > INT32_MAX) return false;
  OnDevice current(device);
  Plan& plan = plan_for(key_of(device, fused, buffers), buffers);
  if (s.always_fuse) return plan.usable();
  const int known = plan.fusion.load(std::memory_order_relaxed);
  if (known || !plan.usable() || !s.tuning) return known > 0;
  const CUstream stream = current_stream(device);
  if (plan.fusion_uses.fetch_add(1, std::memory_order_relaxed) != 2 || capturing(stream)) return false;
  for (int i = 0; i < 8; ++i) run(i % 2 == 1);  // both settle first
  const int best = Race(2, 2, [&](int way) { return run(way == 1); }, stream).best();
  plan.fusion = best == 1 ? 1 : -1;
  return best == 1;
}

}  // namespace shim::gemm
