#include "trace/session.h"

#include <algorithm>
#include <utility>

#include "autograd/streams.h"
#include "core/interpreter_lock.h"
#include "cuda/driver.h"
#include "ops/kernels.h"
#include "trace/backend.h"
#include "trace/calls.h"
#include "trace/run_together.h"

namespace shim::trace {

namespace {

Session* session = nullptr;
uint32_t last_number = 0;

}  // namespace

Session* current() { return session; }
void set_current(Session* s) { session = s; }

void (*Session::failed)(const TreeNode&) = nullptr;
Break (*Session::who_asks)(const char*) = nullptr;
bool (*Session::no_break)(Asks) = nullptr;
void (*Session::on_break)(const Break&) = nullptr;

Session::Lists Session::lists_[2];

void Session::Lists::clear() {
  path.clear();
  numbers.clear();
  storages.clear();
  hidden.clear();
}

Session::Session(Tree& tree, bool watch)
    : first(tree.together && !tree.backend && !tree.foreseen_wrongly && tree.root.next.empty() ? small : no),
      watching(watch),
      tree_(tree),
      at_(&tree.root),
      number_(++last_number) {
  if (!last_number) number_ = ++last_number;
}

int Session::device_of_factories() { return cuda::several_devices ? cuda::current_device() : 0; }

Session::~Session() {
  unwatch();
  show_all();
  now_->clear();
  if (first >= foreseen && program::laid_otherwise) tree_.forget();
}

TreeNode* Session::add(std::shared_ptr<TreeNode> node) {
  if (at_->next.empty() && at_ != &tree_.root)
    ;  // the way goes on
  else
    ++tree_.ways;
  ++tree_.nodes;
  TreeNode* made = node.get();
  at_->next.push_back(std::move(node));
  return made;
}

void Session::hold(const Ref<Storage>& s, uint32_t slot) {
  if (now_->storages.size() <= slot) now_->storages.resize(slot + 1);
  if (now_->storages[slot]) return;
  now_->storages[slot] = s;
  for (Watched& h : watched_)  // from now on it is hidden for the operator's sake
    if (h.now && h.storage == s) h.storage->show(h.memory), h.now = false;
  if (!s->hidden()) now_->hidden.push_back({s.get(), s->hide()});
}

void Session::show_all() {
  for (const Hidden& h : now_->hidden) h.storage->show(h.memory);
  now_->hidden.clear();
}

void Session::go_to(int device) {
  void* const stream = cuda::current_stream(device);
  if (device_ >= 0 && (device_ != device || stream_ != stream)) flush();
  device_ = device;
  stream_ = stream;
}

void Session::missed(const Operator& op, const Break& at) const {
  CHECK(Kind::Runtime, !refusal, *refusal, "\n    triggered by the following guard failure(s):\n    - ", op.full_name(),
      " at ", at.file, ":", at.line, " is on no way through it that is known");
}

// While a long stretch is deferred that ends where its values are read, CUDA would have nothing to do. From now on it runs in parts, short
// ones first: while CUDA does one, Python is through with a longer one. Each begins with an operator that is no part of a group. The rest is
// one program, for its memory is planned as a whole.
void Session::split_path() const {
  constexpr size_t kShort[] = {16, 48}, kWorth = 48;
  const auto& path = now_->path;
  if (!tree_.together || tree_.backend || !following_ || path.size() < kWorth) return;
  if (path.front().node->before->ends_part) return;  // it is one
  size_t at = 0;
  for (size_t part : kShort) {
    const auto begins = [&](size_t i) { return !path[i].node->op->pointwise && path[i].node->device >= 0; };
    for (at += part; at + part < path.size() && !begins(at);) ++at;
    if (at + part >= path.size()) return;
    const TreeNode& ends = *path[at - 1].node;
    (ends.stands_for ? *ends.stands_for : ends).ends_part = true;
  }
}

// After a read CUDA has done what it had. What comes until the end is in parts too, where much was before the read: else that is all of a
// model, whose memory is planned as a whole.
void Session::flush_last() {
  if (before_reads_ && 4 * before_reads_ >= at_->depth && device_ >= 0) split_path();
  do flush();
  while (any_deferred());  // by what the interpreter runs as memory goes
}

void Session::run_part() {
  if (now_->path.empty() || !at_->ends_part || device_ < 0) return;
  flush();
}

void Session::defer(TreeNode& node, std::span<TensorImpl* const> inputs, std::span<const Scalar> parameters,
    std::shared_ptr<TreeNode> held) {
  run_part();
  if (node.device >= 0) go_to(node.device);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.inputs[i].fresh) name(*inputs[i]->storage(), node.inputs[i].slot);
    hold(inputs[i]->storage(), node.inputs[i].slot);
  }
  go_on({&node, now_->numbers.size(), std::move(held)});
  now_->numbers.insert(now_->numbers.end(), parameters.begin(), parameters.end());
}

void Session::go_on(Deferred d) {
  const TreeNode& node = *d.node;
  for (const TensorSpec& r : node.results) {
    if (!r.fresh) continue;
    if (now_->storages.size() <= r.slot) now_->storages.resize(r.slot + 1);
    now_->storages[r.slot] = Storage::pending(r.nbytes, r.device);
    name(*now_->storages[r.slot], r.slot);
  }
  at_ = node.stands_for ? node.stands_for : d.node;
  slots_ = node.slots_before + node.slots;
  now_->path.push_back(std::move(d));
  ++deferred;
}

void Session::defer_path(
    std::span<const Deferred> path, std::span<const Scalar> numbers, std::span<const Given> given) {
  run_part();
  for (const Deferred& d : path)
    if (d.node->device >= 0) go_to(d.node->device);
  for (const Given& g : given) {
    if (g.fresh) name(*g.storage, g.slot);
    hold(g.storage, g.slot);
  }
  const size_t before = now_->numbers.size();
  now_->numbers.insert(now_->numbers.end(), numbers.begin(), numbers.end());
  for (const Deferred& d : path) go_on({d.node, before + d.first, d.held});
}

void Session::went(TreeNode& node, std::span<const Tensor> results) {
  for (size_t i = 0; i < results.size() && i < node.results.size(); ++i)
    name(*results[i]->storage(), node.results[i].slot);
  at_ = &node;
  slots_ = node.slots_before + node.slots;
  ++learned;
}

void Session::asked(const Storage* storage, const char* reason, Asks asks) {
  CHECK(Kind::Runtime, !flushing_, "a compiled operator reads memory that is not among its arguments");
  Break b = who_asks ? who_asks(reason) : Break{};
  b.operators = at_->depth;
  const bool own = inside_bodies && asks != Asks::shape;
  const bool goes_on = own || (asks != Asks::values && (breaks_forbidden || (no_break && no_break(asks))));
  const bool told = !inside_operators && !apart && !goes_on;
  const bool again = !breaks.empty() && breaks.back().line == b.line && breaks.back().file == b.file &&
                     breaks.back().operators == b.operators;  // a line that asks several times
  if (!again && told) breaks.push_back(b);
  if (storage && device_ >= 0) split_path(), before_reads_ = at_->depth;
  flush();
  if (breaks_forbidden && told) on_break(b);
}

// A kernel's result becomes the memory of the tensors that were given out for it.
void Session::store(const TensorSpec& spec, const Tensor& made, std::vector<Ref<Storage>>& storages) {
  Storage& to = *storages[spec.slot];
  if (!to.hidden()) return;  // a result before it lies in the same memory
  const bool lies = spec.lies_like(*made);
  if (lies && made->storage()->nbytes() >= spec.nbytes && made->storage()->may_hide())
    return to.fill_pending(*made->storage());
  if (!lies) program::laid_otherwise = true;
  const auto sizes = spec.sizes();
  CHECK(Kind::Runtime,
      spec.dtype == made->dtype() && std::equal(sizes.begin(), sizes.end(), made->sizes().begin(), made->sizes().end()),
      "a compiled operator gave a tensor of sizes ", bracketed(made->sizes()), " where it gave one of ",
      bracketed(sizes), " before");
  Ref<Storage> fresh = allocate(spec.nbytes, spec.device);
  copy_(spec.over(fresh), made);
  to.fill_pending(*fresh);
}

void Session::run(const Deferred& d, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages) {
  std::vector<Tensor> inputs;
  inputs.reserve(d.node->inputs.size());
  for (const TensorSpec& s : d.node->inputs) inputs.push_back(s.over(storages[s.slot]));
  std::vector<Tensor> results;
  try {
    results = run_node(*d.node, inputs, numbers.subspan(d.first));
  } catch (...) { failed(*d.node); }
  if (d.node->form == Results::none) return;
  CHECK(Kind::Runtime, results.size() == d.node->results.size(), d.node->op->full_name(),
      " gave another number of tensors than before");
  for (size_t i = 0; i < results.size(); ++i) store(d.node->results[i], results[i], storages);
}

void Session::flush() {
  unwatch();
  if (runs_elsewhere()) wait_for_others();
  if (now_->path.empty() || flushing_) return show_all();
  const bool alone = interpreter_calls.alone();
  const LockKept kept(!alone);
  Storage::others_wait.store(!alone, std::memory_order_relaxed);
  flushing_ = true;
  others_go_on = false;
  flusher_ = std::this_thread::get_id();
  struct Done {
    bool& flag;
    ~Done() {
      flag = false;
      Storage::others_wait.store(false, std::memory_order_relaxed);
    }
  } done{flushing_};
  ++flushes;
  show_all();
  const int device = std::exchange(device_, -1);
  if (device < 0) return run_path();
  // CuPy's streams are chosen without us: whoever asks for the memory on another one comes after what is deferred.
  auto* const now = cuda::current_stream(device);
  auto* const then = static_cast<cuda::CUstream>(stream_);
  if (now == then) return run_path();
  struct Chosen {
    int device;
    void* before;
    ~Chosen() { stream_ops().set_current(device, before); }
  };
  {
    stream_ops().set_current(device, then);
    const Chosen chosen{device, now};
    run_path();
  }
  cuda::order_streams(then, device, now, device);
}

bool Session::run_together(
    std::span<const Deferred> path, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages) {
  if (tree_.backend) return run_by_backend(*this, path, storages);
  WithoutModes without;
  return run_as_program(*this, path, numbers, storages);
}

void Session::run_path() {
  std::swap(now_, running_);
  struct Ran {
    Lists& lists;
    ~Ran() { lists.clear(); }
  } ran{*running_};
  auto& [path, numbers, storages, hidden] = *running_;
  const NotWatched pending(*this, storages);
  if (tree_.together && !one_by_one_ && run_together(path, numbers, storages)) return;
  std::vector<size_t> last(storages.size());  // after which memory is not used any more
  for (size_t i = 0; i < path.size(); ++i)
    for (const auto* specs : {&path[i].node->inputs, &path[i].node->results})
      for (const TensorSpec& s : *specs) last[s.slot] = i;
  for (size_t i = 0; i < path.size(); ++i) {
    run(path[i], numbers, storages);
    for (const auto* specs : {&path[i].node->inputs, &path[i].node->results})
      for (const TensorSpec& s : *specs)
        if (last[s.slot] == i) pending.no_longer_used(s.slot), storages[s.slot] = {};
  }
}

}  // namespace shim::trace
