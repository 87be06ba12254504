#include "distributed/nccl_group.h"

#include "core/interpreter_lock.h"
#include "distributed/session.h"

namespace shim::distributed {
namespace {

using namespace nccl;

cuda::CUstream new_stream(int device, bool high_priority) {
  const cuda::OnDevice on(device);
  cuda::CUstream stream = nullptr;
  int least = 0, most = 0;
  if (high_priority && cuda::driver().stream_priorities) cuda::driver().stream_priorities(&least, &most);
  cuda::check(cuda::driver().stream_create(&stream, 1 /* not ordered by the default stream */, most), "cuStreamCreate");
  return stream;
}

}  // namespace

int device_of(const DeviceCollective& w) {
  int device = -1;
  for (const auto* tensors : {&w.inputs, &w.outputs})
    for (const Tensor& t : *tensors) {
      CHECK(Kind::Value, t->device().is_cuda(), "Tensors must be CUDA and dense");
      CHECK(Kind::Value, t->is_contiguous() && !t->has_math_bits(), "Tensors must be contiguous");
      CHECK(Kind::Value, device < 0 || device == t->device().index, w.name,
          ": all tensors must be on one device, got cuda:", device, " and cuda:", int(t->device().index));
      device = t->device().index;
    }
  return device;
}

NcclGroup::NcclGroup(std::shared_ptr<Store> store, std::string prefix, int rank, std::vector<int> members,
    std::string name, std::shared_ptr<const Peers> peers, Milliseconds meeting, bool high_priority)
    : store_(std::move(store)),
      prefix_(std::move(prefix)),
      rank_(rank),
      members_(std::move(members)),
      name_(std::move(name)),
      peers_(std::move(peers)),
      meeting_(meeting),
      high_priority_(high_priority) {
  required();
}

// A communicator that others still use may not be destroyed for long: the processes end together, or by `shutdown`.
NcclGroup::~NcclGroup() = default;

std::string NcclGroup::broken() const {
  const std::lock_guard held(lock_);
  return broken_;
}

void NcclGroup::check_usable() const {
  if (is_broken_) throw Failure(FailureKind::backend, broken());
}

void NcclGroup::abort(const std::string& why) {
  std::vector<Comm> ends;
  {
    const std::lock_guard held(lock_);
    if (!is_broken_) broken_ = why;
    is_broken_ = aborted_ = true;
    static auto* kept = new std::vector<std::shared_ptr<SmallCollectives>>();  // kernels may still read there
    for (auto& [device, c] : comms_) {
      ends.push_back(c.comm);
      if (!c.small) continue;
      c.small->stop();
      kept->push_back(c.small);
    }
    for (auto& [key, c] : pairs_) ends.push_back(c.comm);
    comms_.clear(), pairs_.clear();
    for (auto& [device, m] : opened_)
      if (m) m->let_go();
  }
  for (Comm c : ends) library().abort(c);
}

void NcclGroup::shutdown() {
  std::vector<std::pair<int, DeviceComm>> ends;
  {
    const std::lock_guard held(lock_);
    for (auto& [device, c] : comms_) ends.emplace_back(device, c);
    for (auto& [key, c] : pairs_) ends.emplace_back(key.first, c);
    comms_.clear(), pairs_.clear();
    if (!is_broken_) broken_ = str("the process group ", name_, " was destroyed");
    is_broken_ = true;
  }
  for (auto& [device, c] : ends) {
    const cuda::OnDevice on(device);
    cuda::driver().ctx_synchronize();
    // A graph's end tells the communicator that it was captured with, which therefore has to outlive it: it stays.
    if (!c.in_graphs) library().destroy(c.comm);
  }
  const std::lock_guard held(lock_);
  opened_.clear();
}

DeviceComm NcclGroup::make(int device, cuda::CUstream current, const std::string& key, int rank, int size) {
  CHECK(Kind::Runtime, !cuda::capturing(current),
      "torch.distributed: a group's first collective makes its NCCL communicator, which cannot happen while a CUDA "
      "graph "
      "is captured: run one collective of the group before");
  UniqueId id{};
  if (rank == 0) {
    check(required().unique_id(&id), "ncclGetUniqueId");
    store_->call({.ask = Ask::set, .keys = {prefix_ + key}, .value = std::string(id.bytes, sizeof id.bytes)});
  } else {
    const Reply said = store_->call({.ask = Ask::get, .keys = {prefix_ + key}, .timeout = meeting_.count()});
    if (said.outcome != Outcome::done || said.value.size() != sizeof id.bytes)
      fail_between(FailureKind::backend, "[Rank ", members_[size_t(rank_)], "] the group ", name_,
          ": no NCCL identifier came within ", meeting_.count(), " ms");
    __builtin_memcpy(id.bytes, said.value.data(), sizeof id.bytes);
  }
  auto made = std::make_shared<Comm>(nullptr);
  const auto hopeless = [this] { return peers_ && peers_->changes() ? peers_->hopeless(members_) : std::string(); };
  bounded("ncclCommInitRank", meeting_, hopeless, [made, device, id, rank, size] {
    cuda::set_device(device);
    check(required().init_rank(made.get(), size, id, rank), "ncclCommInitRank");
  });
  return {*made, new_stream(device, high_priority_)};
}

DeviceComm& NcclGroup::communicator(int device, cuda::CUstream current) {
  const std::lock_guard held(lock_);
  auto found = comms_.find(device);
  if (found == comms_.end()) {
    const std::string key = str("nccl/", comms_.size());
    DeviceComm made = make(device, current, key, rank_, size());
    made.small = SmallCollectives::make(*store_, prefix_ + key + "/small/", rank_, size(), device, meeting_);
    found = comms_.emplace(device, std::move(made)).first;
  }
  return found->second;
}

// A single message has a communicator of its two ends, so that others do not wait behind it.
DeviceComm& NcclGroup::pair(int device, cuda::CUstream current, int peer) {
  const std::lock_guard held(lock_);
  auto found = pairs_.find({device, peer});
  if (found == pairs_.end()) {
    const int low = std::min(rank_, peer), high = std::max(rank_, peer);
    const DeviceComm made = make(device, current, str("nccl/", low, ":", high), rank_ == high, 2);
    found = pairs_.emplace(std::pair{device, peer}, made).first;
  }
  return found->second;
}

std::shared_ptr<NcclGroup> NcclGroup::split(
    int device, int color, int key, std::vector<int> members, const std::string& name, Milliseconds timeout) {
  check_usable();
  const cuda::CUstream current = cuda::current_stream(device);
  const Unlocked others_run;
  Comm from = communicator(device, current).comm;
  auto made = std::make_shared<Comm>(nullptr);
  const auto hopeless = [this] { return peers_ && peers_->changes() ? peers_->hopeless(members_) : std::string(); };
  bounded("ncclCommSplit", timeout, hopeless, [made, device, from, color, key] {
    cuda::set_device(device);
    check(required().split(from, color, key, made.get(), nullptr), "ncclCommSplit", from);
  });
  if (color == kNoColor) return nullptr;
  auto group = std::make_shared<NcclGroup>(
      store_, prefix_ + name + "/", key, std::move(members), name, peers_, timeout, high_priority_);
  auto small = SmallCollectives::make(*store_, group->prefix_ + "small/", key, group->size(), device, timeout);
  group->comms_[device] = {*made, new_stream(device, high_priority_), false, std::move(small)};
  return group;
}

void NcclGroup::begin_coalescing() {
  const std::lock_guard held(lock_);
  CHECK(Kind::Runtime, !coalescing_, "torch.distributed: collectives of this group are coalesced already");
  coalescing_ = true;
}

std::shared_ptr<NcclWork> NcclGroup::end_coalescing(bool later, Milliseconds timeout) {
  std::vector<DeviceCollective> all;
  {
    const Unlocked others_run;
    const std::lock_guard held(lock_);
    coalescing_ = false;
    all.swap(coalesced_);
  }
  if (all.empty()) return nullptr;
  check_usable();
  const int device = device_of(all[0]);
  const cuda::CUstream current = cuda::current_stream(device);
  const Unlocked others_run;
  for (DeviceCollective& w : all) w.timeout = timeout;
  const bool alone = all.size() == 1;
  return run(std::move(all), communicator(device, current), {device, current}, later, alone);
}

// CuPy keeps its current streams in objects of Python: they are asked for before the interpreter's lock is let go.
std::shared_ptr<NcclWork> NcclGroup::start(DeviceCollective&& what) {
  check_usable();
  const int device = device_of(what);
  const cuda::CUstream current = cuda::current_stream(device);
  const Unlocked others_run;
  if (coalescing_) {
    const std::lock_guard held(lock_);
    coalesced_.push_back(std::move(what));
    return nullptr;
  }
  const bool message = what.kind == Act::send || what.kind == Act::receive;
  const int peer = what.root;
  const bool later = what.later;
  DeviceComm& c = message ? pair(device, current, peer) : communicator(device, current);
  if (message) what.root = rank_ < peer ? 1 : 0;  // the other one of two
  std::vector<DeviceCollective> one;
  one.push_back(std::move(what));
  return run(std::move(one), c, {device, current}, later, true);
}

std::shared_ptr<NcclWork> NcclGroup::run(
    std::vector<DeviceCollective> what, DeviceComm& c, Asked from, bool later, bool alone) {
  const cuda::Driver& d = cuda::driver();
  const auto [device, current] = from;
  const cuda::OnDevice on(device);
  const cuda::CUstream stream = later ? c.stream : current;
  auto work = std::make_shared<NcclWork>(shared_from_this(), std::move(what), ++sequence_, device);
  work->asked_ = current;
  work->captured_ = cuda::capturing(current);
  if (work->captured_) c.in_graphs = true;
  work->end_ = take_event(device);
  if (later) {
    cuda::check(d.event_record(work->end_, current), "cuEventRecord");
    cuda::check(d.stream_wait_event(stream, work->end_, 0), "cuStreamWaitEvent");
  }
  if (!work->captured_) watch(work);
  const bool small = alone && !work->captured_ && c.small && c.small->takes(work->what_[0]);
  bool done = false;
  if (!alone) check(required().group_start(), "ncclGroupStart");
  try {
    if (small) done = c.small->run(work->what_[0], stream, work->end_);
    if (small && !done) issue_exchange(work->what_[0], c.comm, stream, c.small->most());
    if (!small)
      for (const DeviceCollective& w : work->what_) issue(w, c.comm, stream);
    ++Storage::unseen_writes;
  } catch (...) {
    if (!alone) library().group_end();
    work->state_ = NcclWork::State::done;  // it never began
    throw;
  }
  if (!alone) check(library().group_end(), work->name_.c_str(), c.comm);
  if (!done) cuda::check(d.event_record(work->end_, stream), "cuEventRecord");
  work->state_ = NcclWork::State::running;
  if (later) return work;
  work->release();  // the stream that uses the tensors is ordered already
  return nullptr;
}

}  // namespace shim::distributed
