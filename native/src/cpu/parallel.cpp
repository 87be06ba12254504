#include "cpu/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "core/lazy_clone.h"

namespace shim {
namespace {

constexpr int kSpins = 2000;
constexpr size_t kRoomForThread = size_t(64) << 10;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

struct Job {
  RangeFunction f;
  int64_t n = 0, step = 0;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  void work() {
    for (int64_t begin; (begin = next.fetch_add(step)) < n;) {
      try {
        f(begin, std::min(n, begin + step));
      } catch (...) {
        std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    }
  }
};

thread_local bool inside_ = false;
thread_local bool piece_ = false;  // as inside_, and where one thread has it all

class Pool {
 public:
  void run(Job& job, int helpers) {
    std::unique_lock busy(one_job_, std::try_to_lock);
    if (!busy) return job.work();  // another thread's work has the pool: this one does its own alone
    {
      std::lock_guard lock(mutex_);
      while (serving_ < helpers && start_thread()) {}
      job_ = &job;
      wanted_ = helpers;
      ++generation_;
    }
    wake_.notify_all();
    job.work();
    for (int i = 0; i < kSpins && active_.load(std::memory_order_relaxed); ++i) relax();
    std::unique_lock lock(mutex_);
    wanted_ = 0;
    done_.wait(lock, [&] { return active_ == 0; });
    job_ = nullptr;
  }

 private:
  // False where the system has no more threads, or no memory for one: the work is done by those there are.
  bool start_thread() {
    try {
      std::thread([this, seen = generation_.load()] {
        if (thread_locals_fit()) serve(seen);
        std::lock_guard lock(mutex_);
        --serving_;
      }).detach();
    } catch (const std::exception&) { return false; }
    ++serving_;
    return true;
  }

  // A thread that has just worked looks out for more before it sleeps: waking costs as much as a small job.
  void linger(uint64_t seen) const {
    for (int i = 0; i < kSpins && generation_.load(std::memory_order_relaxed) == seen; ++i) relax();
  }

  void serve(uint64_t seen) {
    std::unique_lock lock(mutex_);
    for (;;) {
      lock.unlock();
      linger(seen);
      lock.lock();
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      if (wanted_ <= 0 || !job_) continue;
      --wanted_;
      ++active_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_all();
    }
  }

  std::mutex mutex_, one_job_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int wanted_ = 0, serving_ = 0;
  std::atomic<int> active_{0};  // changed under the mutex
  std::atomic<uint64_t> generation_{0};
};

// Never destroyed: its threads sleep until the process ends. A forked child starts a pool of its own.
Pool* pool_ = nullptr;
std::once_flag made_;

Pool& pool() {
  std::call_once(made_, [] {
    pool_ = new Pool;
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] { pool_ = new Pool; });
#endif
  });
  return *pool_;
}

std::atomic<int> threads_{std::max(1, int(std::thread::hardware_concurrency()))};

struct Piece {
  const bool before = piece_;
  Piece() { piece_ = true; }
  ~Piece() { piece_ = before; }
};

}  // namespace

// A thread's first use of one of our thread-local variables makes the C library allocate them all, and end the process where it
// cannot: a new thread asks whether that will do, while it may still give up.
bool thread_locals_fit() {
  void* room = std::malloc(kRoomForThread);
  if (!room) return false;
  *static_cast<volatile char*>(room) = 0;  // else the compiler leaves both calls out
  std::free(room);
  *static_cast<volatile bool*>(&inside_) = false;
  return true;
}

bool in_parallel_region() { return piece_; }  // core/lazy_clone.h
int num_threads() { return threads_; }
void set_num_threads(int n) { threads_ = n; }

void parallel_for(int64_t n, int64_t grain, RangeFunction f) {
  grain = std::max<int64_t>(grain, 1);
  const int64_t most = std::min<int64_t>(num_threads(), n / grain);
  if (most < 2 || inside_) {
    const Piece piece;
    if (n > 0) f(0, n);
    return;
  }
  const auto marked = [f](int64_t begin, int64_t end) {
    bool before = inside_;
    inside_ = true;
    const Piece piece;
    try {
      f(begin, end);
    } catch (...) {
      inside_ = before;
      throw;
    }
    inside_ = before;
  };
  // One piece each, the same each time: it stays in that core's cache.
  Job job{marked, n, std::max(grain, (n + most - 1) / most)};
  pool().run(job, int(most) - 1);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace shim
