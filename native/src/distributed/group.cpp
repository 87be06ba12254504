#include "distributed/group.h"

#include <numeric>

#include "distributed/session.h"

namespace shim::distributed {
namespace {

using namespace mpi;

struct Elements {  // as MPI counts a tensor's
  Type type;
  Count each;  // how many to one of ours
};

// What a reduction takes; a bool is 0 or 1, which logical and whole operations have in common.
Elements reducible(DType t) {
  switch (t) {
    case DType::b8:
    case DType::u8: return {handle<Type>(kUint8), 1};
    case DType::i8: return {handle<Type>(kInt8), 1};
    case DType::i32: return {handle<Type>(kInt32), 1};
    case DType::i64: return {handle<Type>(kInt64), 1};
    case DType::f16:
    case DType::bf16: return {handle<Type>(kUint16), 1};
    case DType::f32: return {handle<Type>(kFloat), 1};
    case DType::f64: return {handle<Type>(kDouble), 1};
    case DType::c64: return {handle<Type>(kFloat), 2};
    case DType::c128: return {handle<Type>(kDouble), 2};
    default: fail(Kind::Runtime, "Invalid scalar type");
  }
}

Op operation(Reduce op, DType t) {
  if (t == DType::b8) {
    switch (op) {
      case Reduce::sum:
      case Reduce::max: return handle<Op>(kBor);
      case Reduce::product:
      case Reduce::min: return handle<Op>(kBand);
      default: break;
    }
  }
  constexpr uintptr_t all[] = {kSum, kSum, kProduct, kMin, kMax, kBand, kBor, kBxor};
  const uintptr_t found = all[size_t(op)];
  if (found <= kProduct && (t == DType::f16 || t == DType::bf16)) return half_reduction(t == DType::bf16, found);
  return handle<Op>(found);
}

void* bytes_of(const Tensor& t) { return t ? t->data() : nullptr; }
Count size_of(const Tensor& t) { return t ? Count(t->numel()) * Count(t->itemsize()) : 0; }

}  // namespace

ProcessGroup::ProcessGroup(
    Comm comm, int rank, std::vector<int> members, std::string name, std::shared_ptr<const Peers> peers)
    : comm_(comm), rank_(rank), members_(std::move(members)), name_(std::move(name)), peers_(std::move(peers)) {}

ProcessGroup::~ProcessGroup() {
  Comm comm = comm_;
  if (!is_broken_ && !ending()) required().Comm_free(&comm);
}

std::string ProcessGroup::broken() const {
  const std::lock_guard held(lock_);
  return broken_;
}

void ProcessGroup::abort(const std::string& why) {
  const std::lock_guard held(lock_);
  if (is_broken_) return;
  broken_ = why;
  is_broken_ = true;
}

std::shared_ptr<Work> ProcessGroup::start(Collective&& what) {
  check_same_process();
  if (is_broken_) throw Failure(FailureKind::backend, broken());
  for (const Tensor* t : {&what.input, &what.output})
    CHECK(Kind::Runtime, !*t || ((*t)->device().is_cpu() && (*t)->is_contiguous() && !(*t)->has_math_bits()),
        "a process group over MPI takes contiguous tensors on the CPU");
  auto work = std::make_shared<Work>(shared_from_this(), std::move(what), ++sequence_);
  issue(*work);
  return work;
}

void ProcessGroup::issue_reduction(Work& work) {
  const Library& l = required();
  const Collective& w = work.what_;
  const Elements e = reducible(w.output->dtype());
  const Op op = operation(w.op, w.output->dtype());
  const Count n = w.output->numel() * e.each;
  mpi::Request* r = &work.request_;
  if (w.kind == Act::all_reduce)
    return check(l.Iallreduce_c(kInPlace, bytes_of(w.output), n, e.type, op, comm_, r), w.name.c_str());
  if (w.kind == Act::reduce) {
    const bool root = w.root == rank_;
    return check(l.Ireduce_c(root ? kInPlace : bytes_of(w.output), root ? bytes_of(w.output) : nullptr, n, e.type, op,
                     w.root, comm_, r),
        w.name.c_str());
  }
  std::vector<Count>& counts = work.counts_[0];
  counts.assign(size_t(size()), n);
  for (size_t i = 0; i < w.input_counts.size(); ++i) counts.at(i) = w.input_counts[i] * e.each;
  const Count all = std::accumulate(counts.begin(), counts.end(), Count(0));
  CHECK(Kind::Value, counts[size_t(rank_)] == n && all == w.input->numel() * e.each,
      "reduce_scatter: the input's parts are not the outputs");
  check(
      l.Ireduce_scatter_c(bytes_of(w.input), bytes_of(w.output), counts.data(), e.type, op, comm_, r), w.name.c_str());
}

void ProcessGroup::issue_exchange(Work& work) {
  const Collective& w = work.what_;
  const Tensor* tensors[] = {&w.input, &w.output};
  const std::vector<int64_t>* given[] = {&w.input_counts, &w.output_counts};
  for (int side = 0; side < 2; ++side) {
    const Tensor& t = *tensors[side];
    std::vector<Count>& counts = work.counts_[side];
    counts.assign(size_t(size()), size_of(t) / size());
    for (size_t i = 0; i < given[side]->size(); ++i) counts.at(i) = (*given[side])[i] * Count(t->itemsize());
    work.places_[side].resize(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), work.places_[side].begin(), intptr_t(0));
    CHECK(Kind::Value, work.places_[side].back() + counts.back() == size_of(t),
        "all_to_all: the parts are not the whole");
  }
  const Type byte = handle<Type>(kByte);
  check(required().Ialltoallv_c(bytes_of(w.input), work.counts_[0].data(), work.places_[0].data(), byte,
            bytes_of(w.output), work.counts_[1].data(), work.places_[1].data(), byte, comm_, &work.request_),
      w.name.c_str());
}

void ProcessGroup::issue(Work& work) {
  const Library& l = required();
  const Collective& w = work.what_;
  const Type byte = handle<Type>(kByte);
  void *in = bytes_of(w.input), *out = bytes_of(w.output);
  const Count sent = size_of(w.input), got = size_of(w.output);
  const Count whole = w.kind == Act::scatter ? sent : got;
  if (w.kind == Act::all_gather || (w.root == rank_ && (w.kind == Act::gather || w.kind == Act::scatter)))
    CHECK(
        Kind::Value, whole == (w.kind == Act::scatter ? got : sent) * size(), w.name, ": the parts are not the whole");
  mpi::Request* r = &work.request_;
  switch (w.kind) {
    case Act::all_reduce:
    case Act::reduce:
    case Act::reduce_scatter: return issue_reduction(work);
    case Act::all_to_all: return issue_exchange(work);
    case Act::broadcast: return check(l.Ibcast_c(out, got, byte, w.root, comm_, r), w.name.c_str());
    case Act::all_gather: return check(l.Iallgather_c(in, sent, byte, out, sent, byte, comm_, r), w.name.c_str());
    case Act::gather: return check(l.Igather_c(in, sent, byte, out, sent, byte, w.root, comm_, r), w.name.c_str());
    case Act::scatter: return check(l.Iscatter_c(in, got, byte, out, got, byte, w.root, comm_, r), w.name.c_str());
    case Act::barrier: return check(l.Ibarrier(comm_, r), w.name.c_str());
    case Act::send: return check(l.Isend_c(in, sent, byte, w.root, w.tag, comm_, r), w.name.c_str());
    case Act::receive:
      return check(l.Irecv_c(out, got, byte, w.root < 0 ? kAnySource : w.root, w.tag, comm_, r), w.name.c_str());
  }
}

}  // namespace shim::distributed
