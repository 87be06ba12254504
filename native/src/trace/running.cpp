// The call of a compiled function, and who ends, pauses or waits for what it defers.
#include "trace/running.h"

#include <chrono>
#include <thread>

#include "core/interpreter_lock.h"
#include "cuda/driver.h"
#include "trace/calls.h"

namespace shim::trace {

bool may_trace() { return !current() && !runs_whole; }

namespace {

// Waits while another thread runs what is deferred. It may itself wait for this one, in a body or a backend's graph: after a second nobody
// waits any more, but `for_ever`, for what is not there yet. Whether none runs.
bool others_ran(bool for_ever = false) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point latest = Clock::now() + std::chrono::seconds(1);
  for (Session* s; (s = current()) && s->runs_elsewhere();) {
    if (!for_ever) {
      s->others_go_on = s->others_go_on || Clock::now() > latest;
      if (s->others_go_on) return false;
    }
    const Unlocked others_run;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

}  // namespace

void wait_for_others() { others_ran(true); }

void run_for_others() {
  if (others_ran() && current()) current()->flush();
}

void enter_operator() {
  if (Session* s = current(); s && s->on_this_thread()) ++s->inside_operators;
}

void leave_operator() {
  if (Session* s = current(); s && s->on_this_thread() && s->inside_operators) --s->inside_operators;
}

void run_deferred(const Storage& s) {
  if (current()) {
    const Locked lock;
    if (!s.hidden()) return void(others_ran());
    wait_for_others();
    if (!s.hidden()) return;
    Session* session = current();
    if (session && (inside_traced || !session->on_this_thread())) {  // a kernel, a helper of it, or another thread
      session->run_foreseen();
      session->flush();
    } else if (session) {
      session->asked(&s, nullptr);
    }
  }
  CHECK(Kind::Runtime, !s.hidden(),
      "the tensor has no values: the compiled operator that was to give them, or one before it, raised an error");
}

namespace {

void run_before_outside() {
  const Locked lock;
  Session* s = current();
  if (!s || !s->any_deferred()) return;
  if (!s->on_this_thread()) return run_for_others();
  if (!inside_traced) run_what_is_deferred();
}

}  // namespace

Running::Running(Tree& tree, bool watch) : session(tree, watch) {
  set_current(&session);
  set_tracing(true);
  cuda::run_waiting.store(run_before_outside, std::memory_order_relaxed);
}

Running::~Running() {
  cuda::run_waiting.store(nullptr, std::memory_order_relaxed);
  set_tracing(false);
  set_current(nullptr);
}

void Session::tell() const {
  ++told.calls;
  told.deferred += deferred;
  told.at_once += at_once;
  told.runs += flushes;
  told.programs += programs;
  told.backwards += backwards;
  for (const Because& b : reasons) ++told.reasons[b];
}

bool is_traced_here() { return tracing && current()->on_this_thread() && !current()->apart; }

void run_what_is_deferred() {
  if (current()) current()->flush(), current()->rewatch();
}

void before_number(const Storage& s) {
  if (s.hidden() && current() && current()->on_this_thread() && !inside_traced)
    current()->asked(&s, nullptr, Asks::number);
}

void end_graph(std::string_view reason) {
  if (current() && current()->on_this_thread() && !inside_traced)
    current()->asked(nullptr, std::string(reason).c_str());
}

namespace {
constexpr int64_t kOfAnotherThread = -1;  // the session is
}

int64_t pause(bool deferred) {
  Session* s = current();
  if (s && !s->on_this_thread()) return kOfAnotherThread;
  const int64_t was = int64_t(tracing) | int64_t(s && s->apart) << 1;
  if (deferred && tracing && s->may_run_apart()) {
    s->apart = true;
    return was;
  }
  if (s) s->flush();
  set_tracing(false);
  return was;
}

void resume(int64_t was) {
  if (was == kOfAnotherThread) return;
  set_tracing((was & 1) && current());
  if (current()) current()->apart = was & 2;
}

}  // namespace shim::trace
