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

std::shared_ptr<NcclWork> NcclGroup::exchange(std::vector<DeviceCollective> what) {
  check_usable();
  const int device = device_of(what.at(0));
  const cuda::CUstream current = cuda::current_stream(device);
  std::vector<PeerMemory::Message> sent, received;
  for (const DeviceCollective& w : what) {
    CHECK(Kind::Value, device_of(w) == device, "exchange: all tensors must be on one device");
    const bool out = w.kind == Act::send;
    const Tensor& t = out ? w.inputs.at(0) : w.outputs.at(0);
    CHECK(Kind::Value, w.root >= 0 && w.root < size() && w.root != rank_, "exchange: a message to rank ", w.root);
    (out ? sent : received).push_back({w.root, t->data(), size_t(t->numel()) * t->itemsize()});
  }
  const Unlocked others_run;
  if (cuda::capturing(current)) return nullptr;
  PeerMemory* memory = peer_memory(device);
  if (!memory) return nullptr;
  const cuda::OnDevice on(device);
  auto work = std::make_shared<NcclWork>(shared_from_this(), std::move(what), ++sequence_, device);
  work->asked_ = current;
  work->on_ = memory->last_stream();
  work->end_ = take_event(device);
  {
    const std::lock_guard held(lock_);  // calls of several threads do not mix
    memory->exchange(sent, received, current, work->end_);
  }
  ++Storage::unseen_writes;
  work->state_ = NcclWork::State::running;
  watch(work);
  return work;
}

}  // namespace shim::distributed
