// Messages of a group by memory that its GPUs open to each other.
#include "core/interpreter_lock.h"
#include "distributed/nccl_group.h"

namespace shim::distributed {

PeerMemory* NcclGroup::peer_memory(int device) {
  const std::lock_guard held(lock_);
  auto found = opened_.find(device);
  if (found == opened_.end()) {
    const std::string prefix = str(prefix_, "opened/", opened_.size(), "/");
    found = opened_.emplace(device, PeerMemory::make(*store_, prefix, rank_, size(), device, meeting_)).first;
  }
  return found->second.get();
}

// f(the memory, an event to record) puts it on a stream, and gives that.
template <class F>
std::shared_ptr<NcclWork> NcclGroup::by_copies(
    int device, cuda::CUstream current, std::vector<DeviceCollective> what, F&& f) {
  PeerMemory* memory = cuda::capturing(current) ? nullptr : peer_memory(device);
  if (!memory) return nullptr;
  const cuda::OnDevice on(device);
  auto work = std::make_shared<NcclWork>(shared_from_this(), std::move(what), ++sequence_, device);
  work->asked_ = current;
  work->end_ = take_event(device);
  {
    const std::lock_guard held(lock_);  // calls of several threads do not mix
    work->on_ = f(*memory, work->end_);
  }
  ++Storage::unseen_writes;
  work->state_ = NcclWork::State::running;
  watch(work);
  return work;
}

std::shared_ptr<NcclWork> NcclGroup::exchange(std::vector<DeviceCollective> what) {
  check_usable();
  const int device = device_of(what.at(0));
  const cuda::CUstream current = cuda::current_stream(device);
  std::vector<PeerMemory::Message> sent, received;
  for (const DeviceCollective& w : what) {
    CHECK(Kind::Value, device_of(w) == device, "exchange: all tensors must be on one device");
    const bool out = w.kind == Act::send;
    const Tensor& t = out ? w.inputs.at(0) : w.outputs.at(0);
    CHECK(Kind::Value, w.root >= 0 && w.root < size(), "exchange: a message to rank ", w.root);
    (out ? sent : received).push_back({w.root, t->data(), size_t(t->numel()) * t->itemsize()});
  }
  const Unlocked others_run;
  return by_copies(device, current, std::move(what),
      [&](PeerMemory& m, cuda::CUevent end) { return m.exchange(sent, received, current, end); });
}

std::shared_ptr<NcclWork> NcclGroup::exchange(const std::vector<Tensor>& inputs, const std::vector<int64_t>& to,
    const std::vector<Tensor>& outputs, const std::vector<int64_t>& from, Milliseconds timeout) {
  CHECK(Kind::Value, inputs.size() == to.size() && outputs.size() == from.size(), "exchange: a rank for each tensor");
  std::vector<DeviceCollective> all;
  const auto add = [&](DeviceCollective message, int64_t rank) {
    message.root = int(rank);
    message.timeout = timeout;
    message.name = "exchange";
    all.push_back(std::move(message));
  };
  for (size_t i = 0; i < to.size(); ++i) add({.kind = Act::send, .inputs = {inputs[i]}}, to[i]);
  for (size_t i = 0; i < from.size(); ++i) add({.kind = Act::receive, .outputs = {outputs[i]}}, from[i]);
  return exchange(std::move(all));
}

std::shared_ptr<NcclWork> NcclGroup::reduce_by_copies(DeviceCollective&& what) {
  check_usable();
  const int device = device_of(what);
  const cuda::CUstream current = cuda::current_stream(device);
  const bool spread = what.kind == Act::all_reduce;
  CHECK(Kind::Value, spread || what.inputs.size() == what.outputs.size(), what.name, ": an output for each input");
  CHECK(Kind::Value, what.op == Reduce::sum || what.op == Reduce::avg, what.name, ": copies serve sums and means");
  std::vector<PeerMemory::Rows> rows;
  for (size_t i = 0; i < what.outputs.size(); ++i) {
    const Tensor& t = spread ? what.outputs[i] : what.inputs[i];
    CHECK(Kind::Value, t->numel() % size() == 0, what.name, ": as many rows as ranks");
    const size_t bytes = size_t(t->numel()) / size_t(size()) * t->itemsize();
    void* out = spread ? static_cast<char*>(t->data()) + size_t(rank_) * bytes : what.outputs[i]->data();
    if (!PeerMemory::reduces(t->dtype(), size())) return nullptr;
    rows.push_back({t->data(), bytes, out, t->dtype()});
  }
  const Unlocked others_run;
  const double factor = what.op == Reduce::avg ? 1.0 / size() : 1.0;
  std::vector<DeviceCollective> one;
  one.push_back(std::move(what));
  return by_copies(device, current, std::move(one),
      [&](PeerMemory& m, cuda::CUevent end) { return m.reduce(rows, factor, spread, current, end); });
}

}  // namespace shim::distributed
