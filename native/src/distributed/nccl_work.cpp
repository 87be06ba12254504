// What runs on a device: who waits for it, and the thread that sees it fail.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "distributed/nccl_group.h"
#include "distributed/session.h"

namespace shim::distributed {

namespace {

struct Events {
  std::mutex lock;
  std::map<int, std::vector<cuda::CUevent>> free;
};
Events& events() {
  static auto* all = new Events();
  return *all;
}

std::atomic<int> handling{3};

}  // namespace

cuda::CUevent take_event(int device) {
  {
    Events& all = events();
    const std::lock_guard held(all.lock);
    auto& free = all.free[device];
    if (!free.empty()) {
      cuda::CUevent event = free.back();
      free.pop_back();
      return event;
    }
  }
  cuda::CUevent event = nullptr;
  cuda::check(cuda::driver().event_create(&event, 2 /* no timing */), "cuEventCreate");
  return event;
}

void give_event(int device, cuda::CUevent event) {
  Events& all = events();
  const std::lock_guard held(all.lock);
  all.free[device].push_back(event);
}

void set_failure_handling(int how) { handling = how; }
int failure_handling() noexcept { return handling; }

NcclWork::NcclWork(std::shared_ptr<NcclGroup> group, std::vector<DeviceCollective> what, int64_t sequence, int device)
    : group_(std::move(group)), what_(std::move(what)), sequence_(sequence), device_(device) {
  name_ = what_.size() == 1 ? what_[0].name : "coalesced " + what_[0].name;
  timeout_ = what_[0].timeout;
  for (const DeviceCollective& w : what_) {
    for (const Tensor& t : w.inputs) numel_in_ += t->numel();
    for (const Tensor& t : w.outputs) numel_out_ += t->numel();
  }
}

NcclWork::~NcclWork() {
  if (!end_) return;
  if (captured_)
    cuda::driver().event_destroy(end_);
  else if (state_ != State::failed)
    give_event(device_, end_);
}

std::string NcclWork::text() const {
  return str("WorkNCCL(SeqNum=", sequence_, ", OpType=", name_, ", NumelIn=", numel_in_, ", NumelOut=", numel_out_,
      ", Timeout(ms)=", timeout_.count(), ") of the group ", group_->name_);
}

std::string NcclWork::error() const {
  const std::lock_guard held(lock_);
  return error_;
}

void NcclWork::release() {
  std::vector<DeviceCollective> gone;  // ends after the lock: memory's end may wait for Python's
  const std::lock_guard held(lock_);
  gone.swap(what_);
}

bool NcclWork::ended() {
  const State now = state_;
  if (now == State::done || now == State::failed) return true;
  if (now == State::begun || captured_) return captured_;
  const cuda::CUresult r = cuda::driver().event_query(end_);
  if (r == cuda::kNotReady) return false;
  if (r != 0) {
    fail(cuda::describe(r, "cuEventQuery"));
    return true;
  }
  if (group_->aborted_ && failure_handling() != 0) {
    fail(group_->broken());  // an aborted kernel ends too
    return true;
  }
  release();
  state_ = State::done;
  return true;
}

void NcclWork::fail(const std::string& why) {
  // Its tensors are kept: the device may still write to them.
  static auto* kept = new std::vector<DeviceCollective>();
  static std::mutex keeping;
  const std::lock_guard held(lock_);
  if (state_ == State::failed) return;
  error_ = str("[Rank ", group_->members_[size_t(group_->rank_)], "] ", text(), ": ", why);
  state_ = State::failed;
  const std::lock_guard held_too(keeping);
  for (DeviceCollective& w : what_) kept->push_back(std::move(w));
  what_.clear();
}

void NcclWork::watch(Clock::time_point now) {
  const cuda::OnDevice on(device_);  // this thread has no context of its own
  if (ended()) return;
  std::string why;
  if (group_->aborted_) why = group_->broken();
  if (why.empty() && group_->peers_ && group_->peers_->changes()) why = group_->peers_->hopeless(group_->members_);
  if (why.empty()) {
    nccl::Result r = nccl::kSuccess;
    const std::unique_lock held(group_->lock_, std::try_to_lock);  // a communicator that is being made holds it
    if (held)
      for (auto& [device, c] : group_->comms_)
        if (nccl::library().async_error(c.comm, &r) == nccl::kSuccess && r != nccl::kSuccess && r != nccl::kInProgress)
          why = str("NCCL error: ", nccl::library().error_text(r));
  }
  const auto ran = std::chrono::duration_cast<Milliseconds>(now - began_);
  if (why.empty() && ran < timeout_) return;
  if (why.empty())
    why = str(
        "Watchdog caught collective operation timeout: it ran for ", ran.count(), " milliseconds before timing out.");
  fail(why);
}

void NcclWork::order_current_stream() {
  if (state_ == State::failed) throw Failure(FailureKind::backend, error());
  const cuda::OnDevice on(device_);
  const cuda::CUstream current = cuda::current_stream(device_);
  cuda::check(cuda::driver().stream_wait_event(current, end_, 0), "cuStreamWaitEvent");
  // The stream that asked for it is ordered behind nothing yet where another one waits: it would give the tensors' memory away
  // while the device still uses it. Then they are kept until the end, which the watchdog sees; those of messages by copies go,
  // and their memory is used again only after them.
  if (captured_ || current == asked_ || (on_ && recorded())) release();
}

bool NcclWork::recorded() {
  const std::lock_guard held(lock_);
  bool all = true;
  for (const DeviceCollective& w : what_)
    for (const auto* tensors : {&w.inputs, &w.outputs})
      for (const Tensor& t : *tensors) all &= cuda::record_stream(*t->storage(), t->storage()->data(), on_, device_);
  return all;
}

void NcclWork::wait_on_host(Milliseconds at_most) {
  const auto began = Clock::now();
  const auto until = at_most.count() > 0 ? began + at_most : began_ + timeout_ + Milliseconds(1000);
  for (int spins = 0; !ended(); ++spins) {
    if (spins < 1000) continue;
    const auto now = Clock::now();
    if (now > until) {
      fail(str("Timed out after ", std::chrono::duration_cast<Milliseconds>(now - began).count(), " ms"));
      group_->abort(error());
    }
    if (now - began > Milliseconds(2)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (state_ == State::failed) throw Failure(FailureKind::backend, error());
}

// --- the watchdog --------------------------------------------------------------------------------------------------------
namespace {

struct Watchdog {
  std::mutex lock;
  std::condition_variable wake;
  std::vector<std::shared_ptr<NcclWork>> running, added;
  bool started = false, end = false, idle = false;
  std::thread thread;
};
Watchdog& watchdog() {
  static auto* all = new Watchdog();
  return *all;
}

}  // namespace

// What failed, as TORCH_NCCL_ASYNC_ERROR_HANDLING says.
static void handle_failure(NcclGroup& group, const std::string& error) {
  const int how = failure_handling();
  std::fprintf(stderr, "%s\n", error.c_str());
  if (how == 0) return;
  if (how != 3) group.abort(error);
  if (how == 2) return;
  std::fprintf(stderr,
      "The process ends, for what is on the device would go on with data that is not there "
      "(TORCH_NCCL_ASYNC_ERROR_HANDLING=2 only aborts the group).\n");
  std::fflush(stderr);
  std::abort();
}

static void run_watchdog() {
  Watchdog& w = watchdog();
  int relaxed = 2;
  if (cuda::driver().capture_mode) cuda::driver().capture_mode(&relaxed);  // it asks while others capture
  std::unique_lock held(w.lock);
  while (!w.end) {
    for (auto& work : w.added) w.running.push_back(std::move(work));
    w.added.clear();
    if (w.running.empty()) {
      w.idle = true;
      w.wake.wait(held);
      w.idle = false;
      continue;
    }
    held.unlock();
    const auto now = Clock::now();
    for (auto& work : w.running) {
      work->watch(now);
      if (const std::string error = work->error(); !error.empty()) handle_failure(work->group(), error);
    }
    std::erase_if(w.running, [](const std::shared_ptr<NcclWork>& work) { return work->ended(); });
    held.lock();
    w.wake.wait_for(held, Milliseconds(100), [&w] { return w.end || w.added.size() >= 512; });
  }
  held.unlock();
  w.running.clear();
}

void watch(std::shared_ptr<NcclWork> work) {
  Watchdog& w = watchdog();
  const std::lock_guard held(w.lock);
  if (w.end) return;
  if (!w.started) w.thread = std::thread(run_watchdog), w.started = true;
  w.added.push_back(std::move(work));
  if (w.idle || w.added.size() == 512) w.wake.notify_one();  // their events are wanted again
}

void end_watchdog() {
  Watchdog& w = watchdog();
  {
    const std::lock_guard held(w.lock);
    if (w.end || !w.started) return;
    w.end = true;
  }
  w.wake.notify_one();
  w.thread.join();
}

}  // namespace shim::distributed
