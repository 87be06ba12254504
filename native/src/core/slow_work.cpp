#include "core/slow_work.h"

#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace shim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Clock::duration kPatience = std::chrono::seconds(2);

// Whether the terminal can take a line back.
bool erases() {
  const char* kind = std::getenv("TERM");
  return kind && *kind && std::strcmp(kind, "dumb") != 0;
}

void put(const std::string& text) {
  // Unbuffered and in one piece; that nobody reads it is no reason to stop.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

struct SlowWork::Watch {
  std::mutex lock;
  std::condition_variable changed;
  std::string what;
  bool news = true, ended = false;
  std::thread thread;
  pid_t process = ::getpid();

  void run(Clock::time_point from) {
    const bool one_line = erases();
    std::unique_lock<std::mutex> guard(lock);
    if (changed.wait_until(guard, from, [&] { return ended; })) return;
    while (!ended) {
      if (news) put(one_line ? "\r\x1b[Kshim-torch: " + what + "..." : "shim-torch: " + what + "...\n");
      news = false;
      changed.wait(guard, [&] { return ended || news; });
    }
    if (one_line) put("\r\x1b[K");
  }
};

SlowWork::SlowWork(std::string what, Clock::duration waited) {
  if (!::isatty(STDERR_FILENO)) return;
  watch_ = std::make_unique<Watch>();
  watch_->what = std::move(what);
  try {
    watch_->thread = std::thread(
        &Watch::run, watch_.get(), Clock::now() + (waited < kPatience ? kPatience - waited : Clock::duration{}));
  } catch (...) {  // no more threads: the work goes on unsaid
    watch_.reset();
  }
}

SlowWork::~SlowWork() {
  if (!watch_) return;
  if (watch_->process != ::getpid()) {  // forked meanwhile: the thread is not here, and its lock may be held for ever
    (void)watch_.release();
    return;
  }
  {
    std::lock_guard<std::mutex> guard(watch_->lock);
    watch_->ended = true;
  }
  watch_->changed.notify_all();
  watch_->thread.join();
}

void SlowWork::say(std::string what) {
  if (!watch_ || watch_->process != ::getpid()) return;
  {
    std::lock_guard<std::mutex> guard(watch_->lock);
    watch_->what = std::move(what);
    watch_->news = true;
  }
  watch_->changed.notify_all();
}

}  // namespace shim
