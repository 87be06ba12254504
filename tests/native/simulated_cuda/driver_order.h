#pragma once
// How much of each stream's work every stream comes after, as events tell: what a GPU may do before what.
#include <map>
#include <mutex>

using Seen = std::map<void*, long>;  // of each stream, how many calls
static auto& order_lock = *new std::mutex();
static auto& order = *new std::map<void*, Seen>();

static Seen seen_by(void* stream) {
  const std::lock_guard held(order_lock);
  return order[stream];
}
static void come_after(void* stream, const Seen& seen) {
  const std::lock_guard held(order_lock);
  for (auto [other, calls] : seen) {
    long& mine = order[stream][other];
    if (mine < calls) mine = calls;
  }
}
extern "C" void simulated_work(void* stream) {
  const std::lock_guard held(order_lock);
  ++order[stream][stream];
}
extern "C" long simulated_seen(void* stream, void* other) {
  const std::lock_guard held(order_lock);
  return order[stream][other];
}
