#include "autograd/streams.h"

#include <algorithm>

namespace shim {

StreamOps& stream_ops() {
  static StreamOps ops;
  return ops;
}

int BackwardStreams::caller_device() {
  if (caller_ < 0) caller_ = stream_ops().current_device();
  return caller_;
}

StreamPlace BackwardStreams::ambient(int device) {
  if (ambient_.size() <= size_t(device)) ambient_.resize(size_t(device) + 1);
  StreamPlace& known = ambient_[size_t(device)];
  if (known.device < 0) known = {device, stream_ops().current(device)};
  return known;
}

// What a leaf's gradient is added to is used where the caller is, whatever stream the leaf was first used on.
StreamPlace BackwardStreams::place_of(const Node& n) {
  if (n.gpu < 0) return {};
  return n.on_stream && !n.next_edges.empty() ? StreamPlace{n.gpu, n.stream} : ambient(n.gpu);
}

StreamPlace BackwardStreams::ready(int device) { return running_.device == device ? running_ : ambient(device); }

StreamPlace BackwardStreams::taken(const Node& n, int device) {
  const StreamPlace own = place_of(n);
  return own.device == device ? own : ambient(device);
}

void BackwardStreams::order(StreamPlace first, StreamPlace later) {
  if (first == later) return;
  void* event = stream_ops().record(first.device, first.stream);
  stream_ops().wait(later.device, later.stream, event);
  stream_ops().drop(event);
}

void BackwardStreams::before_sum(const Node& consumer, const Tensor& got) {
  if (!got->device().is_cuda()) return;
  const StreamPlace here = ready(got->device().index);
  order(taken(consumer, here.device), here);
  stream_ops().keep(got, here.device, here.stream);
  auto& all = arrivals_[&consumer];
  for (const Arrival& a : all)
    if (a.from.device == here.device && a.from != here) stream_ops().wait(here.device, here.stream, a.event);
}

void BackwardStreams::sent(const Node& consumer, const Tensor& g) {
  if (!g || !g->device().is_cuda()) return;
  const StreamPlace here = ready(g->device().index), there = taken(consumer, here.device);
  if (here == there) return;
  arrivals_[&consumer].push_back({here, stream_ops().record(here.device, here.stream)});
}

BackwardStreams::Entered::Entered(BackwardStreams* streams, const Node& n, const Grads& grads) {
  if (!streams) return;
  const StreamPlace place = streams->place_of(n);
  if (const auto found = streams->arrivals_.find(&n); found != streams->arrivals_.end()) {
    for (const Arrival& a : found->second) {
      const StreamPlace there = streams->taken(n, a.from.device);
      stream_ops().wait(there.device, there.stream, a.event);
      stream_ops().drop(a.event);
    }
    streams->arrivals_.erase(found);
    for (const Tensor& g : grads)
      if (g && g->device().is_cuda()) {
        const StreamPlace there = streams->taken(n, g->device().index);
        stream_ops().keep(g, there.device, there.stream);
      }
  }
  if (place.device < 0) return;
  streams_ = streams;
  running_before_ = streams->running_;
  device_before_ = stream_ops().current_device();
  before_ = {place.device, stream_ops().current(place.device)};
  streams->running_ = place;
  if (device_before_ != place.device) stream_ops().set_device(place.device);
  if (before_ != place) {
    stream_ops().set_current(place.device, place.stream);
    if (std::find(streams->used_.begin(), streams->used_.end(), place) == streams->used_.end())
      streams->used_.push_back(place);
  }
}

BackwardStreams::Entered::~Entered() {
  if (!streams_) return;
  try {
    if (before_ != streams_->running_) stream_ops().set_current(before_.device, before_.stream);
    if (device_before_ != streams_->running_.device) stream_ops().set_device(device_before_);
  } catch (...) {  // of a device that failed, which is what the pass reports
  }
  streams_->running_ = running_before_;
}

void BackwardStreams::captured(const Tensor& g) {
  if (!g || !g->device().is_cuda()) return;
  const StreamPlace there = ambient(g->device().index);
  if (ready(there.device) != there) stream_ops().keep(g, there.device, there.stream);
}

void BackwardStreams::finish() {
  for (const StreamPlace& p : used_) order(p, ambient(p.device));
  used_.clear();
}

BackwardStreams::~BackwardStreams() {
  for (auto& [node, all] : arrivals_)
    for (const Arrival& a : all) stream_ops().drop(a.event);
}

}  // namespace shim
