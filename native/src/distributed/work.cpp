#include <sched.h>

#include <algorithm>
#include <thread>

#include "cpu/copy.h"
#include "distributed/group.h"
#include "distributed/half_reductions.h"
#include "distributed/session.h"

namespace shim::distributed {
namespace {

bool between_two(Act kind) { return kind == Act::send || kind == Act::receive; }

// What failed: MPI may still write to its tensors.
void keep_for_good(Collective&& what) {
  static std::mutex lock;
  static auto* kept = new std::vector<Collective>();
  const std::lock_guard held(lock);
  kept->push_back(std::move(what));
}

}  // namespace

Work::Work(std::shared_ptr<ProcessGroup> group, Collective&& what, int64_t sequence)
    : group_(std::move(group)), what_(std::move(what)), sequence_(sequence) {}

Work::~Work() {
  if (state_ == State::failed && !between_two(what_.kind)) keep_for_good(std::move(what_));
}

void Work::finish() {
  if (what_.op == Reduce::avg && (what_.kind != Act::reduce || what_.root == group_->rank()))
    divide_by(*what_.output, group_->size());
  for (const auto& [from, to] : what_.copies) copy_cpu(*to, *from);
  what_.copies.clear();
  ++Storage::unseen_writes;
  what_.input = what_.output = {};
  state_ = State::done;
}

void Work::fail(const std::string& why) {
  const auto ran = std::chrono::duration_cast<Milliseconds>(Clock::now() - began_).count();
  error_ = str("[Rank ", group_->members_[size_t(group_->rank())], "] ", what_.name, " (sequence number ", sequence_,
      " of the group ", group_->name_, ", ", ran, " ms): ", why);
  if (what_.kind == Act::receive && request_ != mpi::kNoRequest) {
    const mpi::Library& l = mpi::required();
    int ended = 0;
    l.Cancel(&request_);
    for (int tries = 0; tries < 1000 && !ended; ++tries) l.Test(&request_, &ended, &status_);
  }
  if (what_.kind == Act::send || (what_.kind == Act::receive && request_ != mpi::kNoRequest))
    keep_for_good(std::move(what_));
  if (what_.kind != Act::receive) group_->abort(error_);
  state_ = State::failed;
}

bool Work::advance_held() {
  if (ended()) return true;
  int flag = 0;
  const int error = mpi::library().Test(&request_, &flag, &status_);
  if (error) {
    char text[1024] = {};
    int n = 0;
    mpi::library().Error_string(error, text, &n);
    fail(text);
  } else if (flag) {
    finish();
  }
  return ended();
}

bool Work::advance() {
  const std::unique_lock held(lock_, std::try_to_lock);
  return held ? advance_held() : ended();
}

void Work::look_for_failure(Clock::time_point now, Clock::time_point until) {
  const std::unique_lock held(lock_, std::try_to_lock);
  if (!held || advance_held()) return;
  if (ending()) return fail("the interpreter ends");
  if (group_->is_broken_) return fail(group_->broken());
  if (group_->peers_->changes()) {
    const bool two = between_two(what_.kind) && what_.root >= 0;
    const std::string reason =
        group_->peers_->hopeless(two ? std::vector{group_->members_[size_t(what_.root)]} : group_->members_);
    if (!reason.empty()) return fail(reason);
  }
  if (now < until) return;
  fail(str("Timed out after ", std::chrono::duration_cast<Milliseconds>(until - began_).count(), " ms"));
}

void Work::wait(Milliseconds at_most) {
  auto until = began_ + what_.timeout;
  if (at_most.count() > 0) until = std::min(until, Clock::now() + at_most);
  const auto began = Clock::now();
  for (int spins = 0; !advance(); ++spins) {
    if (spins < 200) continue;
    sched_yield();
    if (spins % 16) continue;
    const auto now = Clock::now();
    look_for_failure(now, until);
    if (now - began > Milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (state_ == State::failed) throw Failure(FailureKind::backend, error());
}

std::string Work::error() const {
  const std::lock_guard held(lock_);
  return error_;
}

// --- the thread that looks at what nobody waits for ---------------------------------------------------------------------
namespace {

struct Progress {
  std::mutex lock;
  std::condition_variable wake;
  std::vector<std::shared_ptr<Work>> running, added;
  bool asleep = false, end = false, started = false;
  std::thread thread;
};

Progress& progress() {
  static auto* all = new Progress();
  return *all;
}

}  // namespace

void Work::look() {
  if (advance()) return;
  const auto now = Clock::now();
  look_for_failure(now, began_ + what_.timeout);
}

namespace {

void run_progress() {
  Progress& p = progress();
  auto busy = Clock::now();
  std::unique_lock held(p.lock);
  while (!p.end) {
    for (auto& work : p.added) p.running.push_back(std::move(work));
    p.added.clear();
    if (!p.running.empty()) busy = Clock::now();
    if (p.running.empty() && Clock::now() - busy > Milliseconds(50)) {
      p.asleep = true;
      p.wake.wait(held);
      p.asleep = false, busy = Clock::now();
      continue;
    }
    held.unlock();
    for (auto& work : p.running) work->look();
    std::erase_if(p.running, [](const std::shared_ptr<Work>& work) { return work->ended(); });
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    held.lock();
  }
}

}  // namespace

void watch_progress(std::shared_ptr<Work> work) {
  Progress& p = progress();
  const std::lock_guard held(p.lock);
  if (p.end) return;
  if (!p.started) p.thread = std::thread(run_progress), p.started = true;
  p.added.push_back(std::move(work));
  if (p.asleep) p.wake.notify_one();
}

void end_progress() {
  Progress& p = progress();
  {
    const std::lock_guard held(p.lock);
    if (p.end || !p.started) return;
    p.end = true;
  }
  p.wake.notify_one();
  p.thread.join();
}

}  // namespace shim::distributed
