#include "cuda/kernel_ahead.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/cache_folder.h"
#include "cuda/kernel_code.h"
#include "cuda/kernel_history.h"
#include "cuda/nvrtc.h"

namespace shim::cuda {
namespace {

constexpr size_t kAhead = 32;  // programs after the one that is asked for
constexpr unsigned kMostThreads = 8;
constexpr size_t kHistoryBytes = 256 * 1024;
constexpr char kHistoryFile[] = "kernel_history.txt";

struct AheadThread {
  std::thread thread;
  bool busy = false;
};

struct Ahead {
  std::mutex lock;
  std::condition_variable idle;
  std::vector<std::string> asked;               // in order
  std::set<std::pair<int, std::string>> known;  // asked for, or queued before
  std::deque<std::pair<std::string, int>> queue;
  std::vector<AheadThread> workers;
  KernelHistory history;
  size_t written = 0;  // of `asked`, those whose place the history has
  bool loaded = false, stopped = false;
};

// Never destroyed, and another one in a forked child, where its threads are not.
Ahead* ahead_ = nullptr;
std::once_flag ahead_made;

Ahead& ahead() {
  std::call_once(ahead_made, [] {
    ahead_ = new Ahead;
    pthread_atfork(nullptr, nullptr, [] { ahead_ = new Ahead; });
  });
  return *ahead_;
}

unsigned most_threads() {
  if (const char* own = std::getenv("SHIM_TORCH_COMPILE_AHEAD"); own && *own)
    return unsigned(std::clamp(std::atoi(own), 0, 64));
  return std::min(kMostThreads, std::max(1u, std::thread::hardware_concurrency()) - 1);
}

void work(size_t number) {
  Ahead& a = ahead();
  std::unique_lock<std::mutex> guard(a.lock);
  while (!a.queue.empty() && !a.stopped) {
    const auto [text, architecture] = a.queue.front();
    a.queue.pop_front();
    guard.unlock();
    make_ahead(Specialisation::parse(text), architecture);
    guard.lock();
  }
  a.workers[number].busy = false;
}

// Signals are for the threads of the program.
std::thread quiet_thread(size_t number) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(work, number);
  } catch (...) {  // no more threads: what is asked for is compiled when it is asked for
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

void start_workers(Ahead& a) {  // under the lock
  const size_t most = most_threads();
  if (a.workers.size() < most) a.workers.resize(most);
  size_t busy = 0;
  for (const AheadThread& w : a.workers) busy += w.busy;
  for (size_t i = 0; i < most && busy < a.queue.size() && !a.stopped; ++i) {
    AheadThread& w = a.workers[i];
    if (w.busy) continue;
    if (w.thread.joinable()) w.thread.join();  // it has nothing left to do
    w.busy = true;
    w.thread = quiet_thread(i);
    if (!w.thread.joinable()) return void(w.busy = false);
    ++busy;
  }
}

std::string text_of(const std::string& path) {
  std::string text;
  FILE* file = path.empty() ? nullptr : std::fopen(path.c_str(), "rb");
  if (!file) return text;
  char buffer[65536];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  return text;
}

// A file that became too long loses its older half.
void load_history(Ahead& a) {
  a.loaded = true;
  a.history.read_table(text_of(kernel_places().table));
  const PrivateFolder folder(cache_folder());
  if (!usable(folder)) return;
  std::string text = folder.read(kHistoryFile);
  if (text.size() > kHistoryBytes) {
    text.erase(0, std::min(text.size(), text.find('\n', text.size() - kHistoryBytes / 2) + 1));
    folder.write(kHistoryFile, text);
  }
  a.history.read_runs(text);
}

void write_history(Ahead& a) {
  std::string lines;
  for (; a.written < a.asked.size(); ++a.written) {
    const std::string& previous = a.written ? a.asked[a.written - 1] : "";
    if (a.history.add(previous, a.asked[a.written])) lines += KernelHistory::line(previous, a.asked[a.written]);
  }
  if (lines.empty()) return;
  const PrivateFolder folder(cache_folder());
  if (usable(folder)) folder.append(kHistoryFile, lines);
}

}  // namespace

void end_looking_ahead() {
  nvrtc::stop();
  Ahead& a = ahead();
  std::vector<AheadThread> all;
  {
    std::lock_guard<std::mutex> guard(a.lock);
    a.stopped = true;
    a.queue.clear();
    for (AheadThread& w : a.workers) all.push_back({std::move(w.thread), true});
  }
  for (AheadThread& w : all)
    if (w.thread.joinable()) w.thread.join();
}

void asked_for(const std::string& specialisation, int architecture) {
  Ahead& a = ahead();
  std::lock_guard<std::mutex> guard(a.lock);
  a.asked.push_back(specialisation);
  a.known.emplace(architecture, specialisation);
}

void look_ahead(const std::string& specialisation, int architecture) {
  Ahead& a = ahead();
  kernel_places();
  if (nvrtc::version().empty()) return;
  std::lock_guard<std::mutex> guard(a.lock);
  if (!a.loaded) load_history(a);
  write_history(a);
  if (!most_threads()) return;
  for (std::string& next : a.history.after(specialisation, kAhead))
    if ((architecture == 90 || !Specialisation::parse(next).for_hopper()) && a.known.emplace(architecture, next).second)
      a.queue.emplace_back(std::move(next), architecture);
  start_workers(a);
}

}  // namespace shim::cuda
