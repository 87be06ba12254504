#include "program/kept_copies.h"

#include <algorithm>
#include <map>
#include <optional>

#include "cuda/driver.h"

namespace shim::program {
namespace {

constexpr uint64_t kMostRenewals = 4;  // and most of the runs
constexpr int kWithoutTime = 2;        // of an event

// Of what memory, and which tensor there. A storage may have been another's: what a copy is of, its number of contents tells.
struct Wanted {
  const Storage* of;
  DType dtype;
  int64_t offset;
  Dims sizes, strides;
  auto operator<=>(const Wanted&) const = default;
};

std::map<Wanted, SharedCopy*>& shared_copies() {
  static auto* all = new std::map<Wanted, SharedCopy*>;  // programs may outlive it otherwise
  return *all;
}

Ref<Storage> memory_for(const TensorRef& r) { return allocate(size_t(r.numel()) * itemsize(r.dtype), r.device); }

void make_copy(const TensorRef& to, const Ref<Storage>& memory, const TensorRef& from, const Ref<Storage>& input) {
  const auto over = [](const TensorRef& r, const Ref<Storage>& s) {
    return make<TensorImpl>(s, r.dtype, r.sizes, r.strides, r.offset);
  };
  copy_(over(to, memory), over(from, input));
}

struct Stream {
  int device = -1;  // none: it is the CPU's
  cuda::CUstream of = nullptr;
};

}  // namespace

class SharedCopy : public RefCounted {
 public:
  explicit SharedCopy(Wanted w) : wanted_(std::move(w)) { shared_copies()[wanted_] = this; }
  ~SharedCopy() override {
    leave();
    if (made_ && cuda::driver().loaded) cuda::driver().event_destroy(made_);
  }
  const Storage* of() const { return wanted_.of; }
  const Ref<Storage>& memory() const { return memory_; }
  void become(Wanted w) {  // of another input
    leave();
    wanted_ = std::move(w);
    shared_copies()[wanted_] = this;
  }
  // Whether it had to be made again, for a run on the stream.
  bool renew(const TensorRef& to, const TensorRef& from, const Ref<Storage>& input, const Stream& stream) {
    if (stream.device >= 0) begin_run(stream);
    const uint64_t contents = input->contents(), unseen = Storage::unseen_writes;
    if (memory_ && contents_ == contents && unseen_ == unseen) return false;
    if (!memory_ || several_) memory_ = memory_for(to);  // a run on another stream may be reading what there was
    contents_ = 0;
    make_copy(to, memory_, from, input);
    if (stream.device >= 0) was_made(stream);
    contents_ = contents;
    unseen_ = unseen;
    return true;
  }

 private:
  void leave() {
    if (auto at = shared_copies().find(wanted_); at != shared_copies().end() && at->second == this)
      shared_copies().erase(at);
  }
  // The run comes after what made the copy, on whatever stream that was.
  void begin_run(const Stream& stream) {
    const auto [device, now] = stream;
    if (last_ == now) return;
    several_ = several_ || last_;
    last_ = now;
    if (!made_ || std::ranges::find(ordered_, now) != ordered_.end()) return;
    const cuda::OnDevice here(device);
    cuda::check(cuda::driver().stream_wait_event(now, made_, 0), "cuStreamWaitEvent");
    if (memory_) cuda::record_stream(*memory_, memory_->data(), now, device);
    ordered_.push_back(now);
  }
  void was_made(const Stream& stream) {
    const cuda::OnDevice here(stream.device);
    if (!made_) cuda::check(cuda::driver().event_create(&made_, kWithoutTime), "cuEventCreate");
    cuda::check(cuda::driver().event_record(made_, stream.of), "cuEventRecord");
    ordered_ = {stream.of};
  }

  Wanted wanted_;
  Ref<Storage> memory_;
  uint64_t contents_ = 0, unseen_ = 0;  // of the input, and unseen writes, as they were
  cuda::CUevent made_ = nullptr;
  std::vector<cuda::CUstream> ordered_;  // behind the event
  std::optional<cuda::CUstream> last_;   // that ran with it
  bool several_ = false;                 // there were others
};

KeptCopies::KeptCopies(const std::vector<KeptCopy>& copies) {
  for (const KeptCopy& c : copies) all_.push_back({c.from, c.to, {}, {}, 0, false});
}
KeptCopies::~KeptCopies() = default;

void KeptCopies::find(Kept& k, Storage& input) {
  if (k.copy && k.copy->of() == &input) return;
  Wanted wanted{&input, k.from.dtype, k.from.offset, k.from.sizes, k.from.strides};
  const auto found = shared_copies().find(wanted);
  if (found != shared_copies().end())
    k.copy = Ref<SharedCopy>(found->second);
  else if (k.copy && k.copy->use_count() == 1)
    k.copy->become(std::move(wanted));
  else
    k.copy = make<SharedCopy>(std::move(wanted));
}

bool KeptCopies::renew(Storages given) {
  ++runs_;
  bool others = false;
  Stream stream;
  if (on_cuda()) {
    stream.device = std::max<int>(all_[0].to.device.index, 0);
    stream.of = cuda::current_stream(stream.device);
  }
  for (Kept& k : all_) {
    if (k.within) continue;
    const Ref<Storage>& input = given[size_t(k.from.storage)];
    find(k, *input);
    const bool fresh = !k.copy->renew(k.to, k.from, input, stream);
    if (k.memory && k.memory != k.copy->memory()) others = true;
    k.memory = k.copy->memory();
    if (fresh || ++k.renewed <= kMostRenewals + 1 || k.renewed * 2 <= runs_) continue;
    k.within = others = true;
    k.copy = {};
    k.memory = {};
  }
  return others;
}

void KeptCopies::give(Storages all, bool anew) const {
  for (const Kept& k : all_) {
    Ref<Storage>& memory = all[size_t(k.to.storage)];
    memory = k.memory;
    if (!anew && !k.within) continue;
    memory = memory_for(k.to);
    make_copy(k.to, memory, k.from, all[size_t(k.from.storage)]);
  }
}

}  // namespace shim::program
