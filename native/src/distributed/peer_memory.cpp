#include "distributed/peer_memory.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/entries/joined_rows.h"
#include "cuda/kernel_entry.h"

namespace shim::distributed {
namespace {

constexpr size_t kSlotBytes = size_t(4) << 20;
constexpr uint32_t kSlots = 4;       // of each other rank and channel: some are filled while others are read
constexpr size_t kFlagStep = 128;    // a number has a line of its own
constexpr unsigned kAtLeast = 0;     // CU_STREAM_WAIT_VALUE_GEQ, of numbers that wrap
constexpr unsigned kNotOrdered = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kMostRows = 8, kAdderThreads = 512;
constexpr int64_t kAdderBlocks = 64;  // half of a large GPU, for few microseconds

const cuda::Family adding{"joined_rows"};

struct RowsAt {  // the kernel's own
  uint64_t at[kMostRows] = {};
  int count = 0;
};

const char* number_type(DType t) {
  return t == DType::bf16  ? "Bf16"
         : t == DType::f16 ? "Half"
         : t == DType::f32 ? "float"
         : t == DType::f64 ? "double"
                           : nullptr;
}

auto adder(DType t, int device) {
  return cuda::find_kernel<cuda::entries::joined_rows::joined_rows>(adding, cuda::key_of(t), device,
      [t] { return std::vector<std::string>{std::string("ELEMENT=") + number_type(t)}; });
}

cuda::CUdeviceptr address(const void* data) { return reinterpret_cast<cuda::CUdeviceptr>(data); }

}  // namespace

PeerMemory::PeerMemory(int rank, int size, int device) : rank_(rank), size_(size), device_(device) {
  for (Channel& c : channels_) c.sent.resize(size_t(size)), c.received.resize(size_t(size));
}

bool PeerMemory::reduces(DType t, int size) { return number_type(t) && size <= kMostRows; }

cuda::CUdeviceptr PeerMemory::slot(int channel, int owner, int source, uint32_t number) const {
  const size_t place = size_t(channel * size_ + source) * kSlots + number % kSlots;
  return memory_->at(owner) + place * kSlotBytes;
}

cuda::CUdeviceptr PeerMemory::flag(int channel, int owner, int other, bool freed) const {
  const size_t slots = size_t(kChannels) * size_t(size_) * kSlots * kSlotBytes;
  return memory_->at(owner) + slots + (size_t(channel * size_ + other) * 2 + freed) * kFlagStep;
}

void PeerMemory::make_streams() {
  const cuda::Driver& d = cuda::driver();
  for (Channel& c : channels_)
    for (cuda::CUstream* stream : {&c.out, &c.in})
      cuda::check(d.stream_create(stream, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.event_create(&between_, 2), "cuEventCreate");
}

// Whether the device can do with a rank's memory what messages need; nobody sends anything yet.
bool PeerMemory::tried(int other) {
  const cuda::Driver& d = cuda::driver();
  const cuda::CUstream stream = channels_[messages].out;
  return d.memcpy_async(slot(messages, other, rank_, 0), slot(messages, rank_, other, 0), 64, stream) == 0 &&
         d.stream_write_value(stream, flag(messages, other, rank_, false), 0, 0) == 0 &&
         d.stream_wait_value(stream, flag(messages, rank_, other, false), 0, kAtLeast) == 0 &&
         d.stream_synchronize(stream) == 0;
}

std::unique_ptr<PeerMemory> PeerMemory::make(
    Store& store, const std::string& prefix, int rank, int size, int device, Milliseconds timeout) {
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device);
  std::unique_ptr<PeerMemory> made(new PeerMemory(rank, size, device));
  const char* asked = std::getenv("SHIM_PEER_COPIES");
  bool able =
      !(asked && std::string(asked) == "0") && d.stream_write_value && d.stream_wait_value && cuda::kernels_ready();
  try {
    made->make_streams();
    able = able && adder(DType::f32, device);
  } catch (const Error&) { able = false; }
  const auto tried = [&made](OpenedMemory& m, int other) {
    made->memory_ = &m;
    return made->tried(other);
  };
  const size_t bytes = size_t(kChannels) * size_t(size) * (kSlots * kSlotBytes + 2 * kFlagStep);
  made->owned_ = OpenedMemory::make(store, prefix, rank, size, device, bytes, able, timeout, tried);
  made->memory_ = made->owned_.get();
  return made->memory_ ? std::move(made) : nullptr;
}

PeerMemory::~PeerMemory() {
  // The streams stay: memory that was used on them is given away behind them.
  if (between_) cuda::driver().event_destroy(between_);
}

void PeerMemory::let_go() {
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device_);
  cuda::CUstream stream = nullptr;
  if (d.stream_create(&stream, kNotOrdered, 0) != 0) return;
  for (int c = 0; c < kChannels; ++c)
    for (int other = 0; other < size_; ++other) {
      d.stream_write_value(stream, flag(c, rank_, other, false), channels_[c].received[size_t(other)], 0);
      d.stream_write_value(stream, flag(c, rank_, other, true), channels_[c].sent[size_t(other)], 0);
    }
}

// `later` comes after what `first` holds now.
void PeerMemory::join(cuda::CUstream first, cuda::CUstream later) {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.event_record(between_, first), "cuEventRecord");
  cuda::check(d.stream_wait_event(later, between_, 0), "cuStreamWaitEvent");
}

void PeerMemory::begin(cuda::CUstream current, std::initializer_list<cuda::CUstream> streams) {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.event_record(between_, current), "cuEventRecord");
  for (cuda::CUstream s : streams) cuda::check(d.stream_wait_event(s, between_, 0), "cuStreamWaitEvent");
}

void PeerMemory::send_piece(int channel, int peer, cuda::CUdeviceptr from, size_t bytes) {
  const cuda::Driver& d = cuda::driver();
  const cuda::CUstream stream = channels_[channel].out;
  uint32_t& count = channels_[channel].sent[size_t(peer)];
  if (count >= kSlots)
    cuda::check(d.stream_wait_value(stream, flag(channel, rank_, peer, true), count - kSlots + 1, kAtLeast),
        "cuStreamWaitValue32");
  cuda::check(d.memcpy_async(slot(channel, peer, rank_, count), from, bytes, stream), "cuMemcpyAsync");
  cuda::check(d.stream_write_value(stream, flag(channel, peer, rank_, false), ++count, 0), "cuStreamWriteValue32");
}

// Where the next piece lies, for what the channel's stream gets now.
cuda::CUdeviceptr PeerMemory::await_piece(int channel, int peer) {
  uint32_t& count = channels_[channel].received[size_t(peer)];
  const cuda::CUdeviceptr from = slot(channel, rank_, peer, count);
  cuda::check(
      cuda::driver().stream_wait_value(channels_[channel].in, flag(channel, rank_, peer, false), ++count, kAtLeast),
      "cuStreamWaitValue32");
  return from;
}

void PeerMemory::free_piece(int channel, int peer) {
  const uint32_t count = channels_[channel].received[size_t(peer)];
  cuda::check(cuda::driver().stream_write_value(channels_[channel].in, flag(channel, peer, rank_, true), count, 0),
      "cuStreamWriteValue32");
}

void PeerMemory::receive_piece(int channel, int peer, cuda::CUdeviceptr to, size_t bytes) {
  const cuda::CUdeviceptr from = await_piece(channel, peer);
  cuda::check(cuda::driver().memcpy_async(to, from, bytes, channels_[channel].in), "cuMemcpyAsync");
  free_piece(channel, peer);
}

cuda::CUstream PeerMemory::exchange(
    const std::vector<Message>& sent, const std::vector<Message>& received, cuda::CUstream current, cuda::CUevent end) {
  Channel& c = channels_[messages];
  begin(current, {c.out, c.in});
  // Sends and receives in turn: where a stream runs a call at once, as the tests' driver does, none waits for what comes after it.
  for (size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    const size_t out = i < sent.size() ? sent[i].bytes : 0, in = i < received.size() ? received[i].bytes : 0;
    for (size_t at = 0; at < std::max(out, in); at += kSlotBytes) {
      if (at < out) send_piece(messages, sent[i].peer, address(sent[i].data) + at, std::min(kSlotBytes, out - at));
      if (at < in)
        receive_piece(messages, received[i].peer, address(received[i].data) + at, std::min(kSlotBytes, in - at));
    }
  }
  join(c.out, c.in);
  cuda::check(cuda::driver().event_record(end, c.in), "cuEventRecord");
  return c.in;
}

void PeerMemory::add_pieces(const Rows& r, size_t at, size_t bytes, double factor) {
  RowsAt rows_at{.count = size_};
  void* out = static_cast<char*>(r.out) + at;
  uint64_t all = address(out);
  for (int rank = 0; rank < size_; ++rank) {
    rows_at.at[rank] = rank == rank_ ? address(r.data) + size_t(rank) * r.bytes + at : await_piece(rows, rank);
    all |= rows_at.at[rank];
  }
  const int64_t n = int64_t(bytes / itemsize(r.dtype));
  const int64_t blocks = std::clamp<int64_t>(int64_t(bytes) / 16 / kAdderThreads, 1, kAdderBlocks);
  const auto f = adder(r.dtype, device_);
  CHECK(Kind::Runtime, f, "torch.distributed: no kernel adds ", scalar_name(r.dtype),
      " here; without SHIM_PEER_COPIES NCCL does it");
  cuda::entries::joined_rows::joined_rows::with(
      [&](void** arguments) { cuda::launch_on(channels_[rows].in, f.function, blocks, kAdderThreads, arguments); }, out,
      rows_at, n, int(all % 16 == 0), factor == 1 ? 0 : 4 /* kScaledSum */, factor);
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) free_piece(rows, rank);
}

// Pieces of all phases in turn: while one is added up, the next is on its way to it, and the one before on its way back.
cuda::CUstream PeerMemory::reduce(
    const std::vector<Rows>& all, double factor, bool spread, cuda::CUstream current, cuda::CUevent end) {
  Channel &a = channels_[rows], &b = channels_[sums];
  begin(current, {a.out, a.in, b.out, b.in});
  for (const Rows& r : all)
    for (size_t at = 0; at < r.bytes; at += kSlotBytes) {
      const size_t bytes = std::min(kSlotBytes, r.bytes - at);
      const auto of = [&](int rank) { return address(r.data) + size_t(rank) * r.bytes + at; };
      for (int step = 1; step < size_; ++step) {
        const int to = (rank_ + step) % size_;
        send_piece(rows, to, of(to), bytes);
      }
      add_pieces(r, at, bytes, factor);
      if (!spread) continue;
      join(a.in, b.out);
      for (int step = 1; step < size_; ++step) send_piece(sums, (rank_ + step) % size_, address(r.out) + at, bytes);
      for (int step = 1; step < size_; ++step) {
        const int source = (rank_ + size_ - step) % size_;
        receive_piece(sums, source, of(source), bytes);
      }
    }
  const cuda::CUstream last = spread ? b.in : a.in;
  join(a.out, last);
  if (spread) join(b.out, last);
  cuda::check(cuda::driver().event_record(end, last), "cuEventRecord");
  return last;
}

}  // namespace shim::distributed
