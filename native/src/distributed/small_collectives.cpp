#include "distributed/small_collectives.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cuda/entries/small_collectives.h"
#include "distributed/nccl_group.h"

namespace shim::distributed {
namespace {

namespace kernels = cuda::entries::small_collectives;

constexpr int kMostRanks = 8;                  // as many as the kernels' arguments have places for
constexpr size_t kMostSent = size_t(1) << 18;  // bytes that a rank sends: NCCL is quicker with more
constexpr int kThreads = 512, kMostBlocks = 64;
constexpr unsigned kMapped = 3;  // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP

const cuda::Family family{"small_collectives"};

struct Ranks {  // the kernels' own
  uint64_t to[kMostRanks] = {}, from = 0;
  int64_t slot = 0;
  const uint32_t* stop = nullptr;
  int rank = 0, size = 0;
};

enum Join : int { sums, products, least, greatest, scaled_sums };  // as the kernels count them

const char* element(DType t) {  // null: the kernels do not reduce it
  switch (t) {
    case DType::b8:
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i32: return "int";
    case DType::u32: return "u32";
    case DType::i64: return "i64";
    case DType::u64: return "u64";
    case DType::f16: return "Half";
    case DType::bf16: return "Bf16";
    case DType::f32:
    case DType::c64: return "float";
    case DType::f64:
    case DType::c128: return "double";
    default: return nullptr;
  }
}

template <class E> cuda::Kernel<E> kernel(DType t, int device) {
  return cuda::find_kernel<E>(
      family, cuda::key_of(t), device, [t] { return std::vector<std::string>{std::string("ELEMENT=") + element(t)}; });
}

bool of_floats(DType t) {
  return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64 || t == DType::c64 ||
         t == DType::c128;
}

// How the kernels join numbers of a type; -1: that is NCCL's. (A premultiplied sum is: each rank may have a factor of its own, and NCCL
// rounds products and sums together.)
int join_of(const DeviceCollective& w, DType t) {
  const bool integers =
      t == DType::u8 || t == DType::i8 || t == DType::i32 || t == DType::u32 || t == DType::i64 || t == DType::u64;
  if (!integers && !of_floats(t) && t != DType::b8) return -1;
  switch (w.op) {
    case Reduce::sum: return t == DType::b8 ? greatest : sums;
    case Reduce::product: return t == DType::b8 ? least : t == DType::c64 || t == DType::c128 ? -1 : products;
    case Reduce::min: return of_floats(t) ? -1 : least;
    case Reduce::max: return of_floats(t) ? -1 : greatest;
    case Reduce::avg: return of_floats(t) ? scaled_sums : -1;
    default: return -1;
  }
}

// As a number of the type, which NCCL multiplies by.
double rounded(double factor, DType t) {
  if (t == DType::f16) return double(_Float16(factor));
  if (t != DType::bf16) return t == DType::f64 || t == DType::c128 ? factor : double(float(factor));
  const auto f = float(factor);
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
  float r;
  __builtin_memcpy(&r, &bits, 4);
  return double(r);
}

struct Exchange {  // the kernels' own
  uint64_t in[kMostRanks] = {}, out[kMostRanks] = {};
  int64_t given[kMostRanks] = {}, made[kMostRanks] = {};
};

struct Parts {             // of a collective
  const Tensor *in, *out;  // null: it is none of these
  int64_t bytes, step;     // of a rank's part; from one rank's part of the input to the next
};

Parts parts_of(const DeviceCollective& w, int size) {
  constexpr Parts none{nullptr, nullptr, 0, 0};
  const size_t inputs = w.kind == Act::all_reduce ? 0 : 1;
  if (w.inputs.size() != inputs || w.outputs.size() != 1) return none;
  const Tensor &out = w.outputs[0], &in = inputs ? w.inputs[0] : out;
  if (in->dtype() != out->dtype() || !out->numel() || !in->numel()) return none;
  const int64_t given = in->numel(), made = out->numel(), each = int64_t(in->itemsize());
  switch (w.kind) {
    case Act::all_reduce: return {&in, &out, made * each, 0};
    case Act::all_gather: return made == given * size ? Parts{&in, &out, given * each, 0} : none;
    case Act::reduce_scatter: return given == made * size ? Parts{&in, &out, made * each, made * each} : none;
    default: return none;
  }
}

}  // namespace

SmallCollectives::SmallCollectives(int rank, int size, int device)
    : rank_(rank), size_(size), device_(device), most_(kMostSent / size_t(std::max(1, size - 1)) / 8 * 8) {}

std::shared_ptr<SmallCollectives> SmallCollectives::make(
    Store& store, const std::string& prefix, int rank, int size, int device, Milliseconds timeout) {
  if (size < 2 || size > kMostRanks) return nullptr;
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device);
  std::shared_ptr<SmallCollectives> made(new SmallCollectives(rank, size, device));
  const char* asked = std::getenv("SHIM_SMALL_COLLECTIVES");
  bool able = !(asked && std::string(asked) == "0") && cuda::kernels_ready() && d.host_alloc;
  try {
    able = able && kernel<kernels::gathered>(DType::u8, device);
  } catch (const Error&) {
    able = false;  // the driver does not load it
  }
  void* flag = nullptr;
  able = able && d.host_alloc(&flag, sizeof(uint32_t), kMapped) == 0;
  made->stop_ = static_cast<uint32_t*>(flag);
  if (flag) *made->stop_ = 0;
  const size_t bytes = 2 * size_t(size) * 2 * made->most_;
  made->memory_ = OpenedMemory::make(store, prefix, rank, size, device, bytes, able, timeout);
  return made->memory_ ? std::move(made) : nullptr;
}

SmallCollectives::~SmallCollectives() {
  if (stop_) cuda::driver().host_free(stop_);
}

void SmallCollectives::stop() noexcept { __atomic_store_n(stop_, 1u, __ATOMIC_RELEASE); }

bool SmallCollectives::takes(const DeviceCollective& w) const {
  if (number_ == std::numeric_limits<uint32_t>::max()) return false;
  if (w.kind == Act::all_to_all) return true;
  const Parts p = parts_of(w, size_);
  if (!p.in || size_t(p.bytes) > most_) return false;
  return w.kind == Act::all_gather || join_of(w, (*p.in)->dtype()) >= 0;
}

// f(a function that puts a kernel for so many bytes on the stream, where the ranks' slots are, the collective's number)
template <class F> void SmallCollectives::launch(cuda::CUstream stream, cuda::CUevent end, F&& f) {
  const cuda::Driver& d = cuda::driver();
  const std::lock_guard held(lock_);
  unsigned long long id = 0;
  if (d.stream_id) cuda::check(d.stream_id(stream, &id), "cuStreamGetId");
  if (last_ && (!id || id != last_stream_)) cuda::check(d.stream_wait_event(stream, last_, 0), "cuStreamWaitEvent");
  const uint32_t number = ++number_;
  Ranks ranks{.slot = int64_t(2 * most_), .stop = stop_, .rank = rank_, .size = size_};
  const uint64_t side = uint64_t(number % 2) * uint64_t(size_) * 2 * most_;
  for (int r = 0; r < size_; ++r) ranks.to[r] = memory_->at(r) + side + uint64_t(rank_) * 2 * most_;
  ranks.from = memory_->at(rank_) + side;
  const auto launched = [&](cuda::CUfunction function, int64_t bytes) {
    const int64_t blocks = std::clamp<int64_t>((bytes + 8 * kThreads - 1) / (8 * kThreads), 1, kMostBlocks);
    return [=](void** arguments) { cuda::launch_on(stream, function, blocks, kThreads, arguments); };
  };
  f(launched, ranks, number);
  cuda::check(d.event_record(end, stream), "cuEventRecord");
  last_ = end, last_stream_ = id;
}

// Two slots for each rank, used in turn. Whoever fills one again has words of the collective between, which the other rank sent when it
// had read the slot.
bool SmallCollectives::run(const DeviceCollective& w, cuda::CUstream stream, cuda::CUevent end) {
  if (w.kind == Act::all_to_all) return run_exchange(w, stream, end);
  const Parts p = parts_of(w, size_);
  const DType t = (*p.in)->dtype();
  const void* in = (*p.in)->data();
  void* out = (*p.out)->data();
  if (w.kind == Act::all_gather) {
    const auto f = kernel<kernels::gathered>(DType::u8, device_);
    launch(stream, end, [&](const auto& launched, const Ranks& ranks, uint32_t number) {
      kernels::gathered::with(launched(f.function, p.bytes), in, out, p.bytes, p.step, ranks, number);
    });
    return true;
  }
  const auto f = kernel<kernels::reduced>(t, device_);
  CHECK(Kind::Runtime, f, w.name, ": no kernel reduces ", scalar_name(t),
      " here; with SHIM_SMALL_COLLECTIVES=0 NCCL does it");
  const double factor = rounded(1.0 / size_, t);
  launch(stream, end, [&](const auto& launched, const Ranks& ranks, uint32_t number) {
    kernels::reduced::with(
        launched(f.function, p.bytes), in, out, p.bytes, p.step, ranks, number, int(join_of(w, t)), factor);
  });
  return true;
}

// Each pair decides by itself, for only its two ends know how much goes between them.
bool SmallCollectives::run_exchange(const DeviceCollective& w, cuda::CUstream stream, cuda::CUevent end) {
  const auto f = kernel<kernels::swapped>(DType::u8, device_);
  Exchange e;
  int64_t longest = 1;
  bool all = true;
  for (int side = 0; side < 2; ++side) {
    const std::vector<Piece> pieces =
        pieces_of(side ? w.outputs : w.inputs, side ? w.output_counts : w.input_counts, size_);
    for (int r = 0; r < size_; ++r) {
      const Piece& piece = pieces[size_t(r)];
      const bool small = piece.bytes <= most_;
      (side ? e.out : e.in)[r] = reinterpret_cast<uint64_t>(piece.data);
      (side ? e.made : e.given)[r] = small ? int64_t(piece.bytes) : 0;
      if (small) longest = std::max(longest, int64_t(piece.bytes));
      all = all && small;
    }
  }
  launch(stream, end, [&](const auto& launched, const Ranks& ranks, uint32_t number) {
    kernels::swapped::with(launched(f.function, longest), e, ranks, number);
  });
  return all;
}

}  // namespace shim::distributed
