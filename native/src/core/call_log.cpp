#include "core/call_log.h"

#include <pthread.h>

#include <chrono>
#include <mutex>
#include <utility>

namespace shim {
namespace {

std::mutex lock;
std::vector<LoggedCall> ended;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void CallLog::start(bool with_shapes) {
  const std::lock_guard held(lock);
  ended.clear();
  shapes = with_shapes;
  on = true;
}

std::vector<LoggedCall> CallLog::stop() {
  const std::lock_guard held(lock);
  on = shapes = false;
  return std::exchange(ended, {});
}

LogCall::LogCall(std::string name) {
  call.name = std::move(name);
  call.thread = uint64_t(pthread_self());
  call.begin = now();
}

LogCall::~LogCall() {
  call.end = now();
  const std::lock_guard held(lock);
  if (CallLog::on) ended.push_back(std::move(call));
}

}  // namespace shim
