#include "autograd/profile.h"

#include <pthread.h>

#include <chrono>
#include <deque>
#include <utility>

#include "autograd/node_watch.h"

namespace shim::profile {

bool on = false, with_shapes = false;

namespace {

struct Event {
  std::string name;
  int64_t start = 0, end = 0;  // 0: it is not over
  int64_t sequence = -1;
  bool backward = false;
  int64_t thread = 0;
  Dims counts;
  std::vector<Dims> sizes;
  std::vector<Dims> result;
};

std::deque<Event>& events = *new std::deque<Event>;
size_t taken = 0;  // how many were taken: their numbers go on
thread_local std::deque<Call> nodes;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Event* find(size_t number) {  // null: it was taken already
  return number >= taken && number - taken < events.size() ? &events[number - taken] : nullptr;
}

Dims dims_of(const TensorImpl& t) { return Dims(t.sizes().begin(), t.sizes().end()); }

void watch_node(const Node& node, bool begins) {
  if (begins)
    nodes.emplace_back(node.name(), int64_t(node.sequence));
  else if (!nodes.empty())
    nodes.pop_back();
}

}  // namespace

void set(bool record, bool shapes) {
  on = record;
  with_shapes = shapes;
  node_watch = on ? watch_node : nullptr;
}

std::vector<Row> take() {
  std::vector<Row> rows;
  for (Event& e : events)
    if (e.end)
      rows.emplace_back(std::move(e.name), e.start, e.end, e.thread, e.sequence, e.backward, std::move(e.counts),
          std::move(e.sizes), std::move(e.result));
  taken += events.size();
  events.clear();
  return rows;
}

Call::Call(std::string name, int64_t of_node) : event_(taken + events.size()) {
  Event& e = events.emplace_back();
  e.name = std::move(name);
  e.sequence = of_node;
  e.backward = of_node >= 0;
  e.thread = int64_t(pthread_self());
  e.start = now();
}

Call::~Call() {
  if (Event* e = find(event_)) e->end = now();
}

void Call::argument(bool tensor) {
  if (Event* e = find(event_)) e->counts.push_back(tensor ? -1 : 0);
}

void Call::tensor(const TensorImpl& t) {
  Event* e = find(event_);
  if (!e) return;
  e->sizes.push_back(dims_of(t));
  if (e->counts.back() >= 0) ++e->counts.back();
}

void Call::gave(const TensorImpl& result) {
  Event* e = find(event_);
  if (!e) return;
  if (with_shapes) e->result = {dims_of(result)};
  if (result.autograd() && result.autograd()->grad_fn) e->sequence = int64_t(result.autograd()->grad_fn->sequence);
}

}  // namespace shim::profile
