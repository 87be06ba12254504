#include "distributed/peer_memory.h"

#include <algorithm>
#include <cstdlib>

#include "cuda/entries/joined_rows.h"
#include "cuda/kernel_entry.h"

namespace shim::distributed {
namespace {

constexpr size_t kSlotBytes = size_t(8) << 20, kLeastPiece = size_t(2) << 20;
constexpr int kFewRanks = 4;         // more have half of a slot each
constexpr uint32_t kSlots = 4;       // of each other rank and channel: some are filled while others are read
constexpr size_t kFlagStep = 128;    // a number has a line of its own
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

PeerMemory::PeerMemory(int rank, int size, int device)
    : rank_(rank), size_(size), device_(device), slot_bytes_(size > kFewRanks ? kSlotBytes / 2 : kSlotBytes) {
  for (Channel& c : channels_) c.sent.resize(size_t(size)), c.received.resize(size_t(size));
}

bool PeerMemory::reduces(DType t, int size) { return number_type(t) && size <= kMostRows; }

cuda::CUdeviceptr PeerMemory::slot(int channel, int owner, int source, uint32_t number) const {
  const size_t place = size_t(channel * size_ + source) * kSlots + number % kSlots;
  return memory_->at(owner) + place * slot_bytes_;
}

cuda::CUdeviceptr PeerMemory::flag(int channel, int owner, int other, bool freed) const {
  const size_t slots = size_t(kChannels) * size_t(size_) * kSlots * slot_bytes_;
  return memory_->at(owner) + slots + (size_t(channel * size_ + other) * 2 + freed) * kFlagStep;
}

// Large enough that the host's calls do not count, and so many that the ways there and back and the sums run at the same time.
size_t PeerMemory::piece_bytes(size_t row) const {
  return std::clamp((row / 2 + kLeastPiece - 1) / kLeastPiece * kLeastPiece, kLeastPiece, slot_bytes_);
}

void PeerMemory::make_streams() {
  const cuda::Driver& d = cuda::driver();
  for (Channel& c : channels_)
    for (Line* line : {&c.out, &c.in}) cuda::check(d.stream_create(&line->stream, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.event_create(&between_, 2), "cuEventCreate");
}

// Whether the device can do with a rank's memory what messages need; nobody sends anything yet.
bool PeerMemory::tried(int other) {
  const cuda::Driver& d = cuda::driver();
  const cuda::CUstream stream = channels_[messages].out.stream;
  cuda::BatchedNumber both[] = {
      {kWrite, flag(messages, other, rank_, false), 0}, {kWait, flag(messages, rank_, other, false), 0}};
  batches_ = d.stream_numbers && d.stream_numbers(stream, 2, both, 0) == 0;
  return d.memcpy_async(slot(messages, other, rank_, 0), slot(messages, rank_, other, 0), 64, stream) == 0 &&
         d.stream_write_value(stream, flag(messages, other, rank_, false), 0, 0) == 0 &&
         d.stream_wait_value(stream, flag(messages, rank_, other, false), 0, 0) == 0 &&
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
  const size_t bytes = size_t(kChannels) * size_t(size) * (kSlots * made->slot_bytes_ + 2 * kFlagStep);
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
void PeerMemory::join(Line& first, Line& later) {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.event_record(between_, first.stream), "cuEventRecord");
  cuda::check(d.stream_wait_event(later.stream, between_, 0), "cuStreamWaitEvent");
}

void PeerMemory::begin(cuda::CUstream current, std::initializer_list<Line*> lines) {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.event_record(between_, current), "cuEventRecord");
  for (Line* l : lines) {
    l->numbers.clear();  // of a call that failed
    cuda::check(d.stream_wait_event(l->stream, between_, 0), "cuStreamWaitEvent");
  }
}

void PeerMemory::flush(Line& line) {
  const cuda::Driver& d = cuda::driver();
  auto& all = line.numbers;
  if (batches_ && all.size() > 1) {
    cuda::check(d.stream_numbers(line.stream, unsigned(all.size()), all.data(), 0), "cuStreamBatchMemOp");
  } else {
    for (const cuda::BatchedNumber& n : all)
      cuda::check(
          (n.act == kWait ? d.stream_wait_value : d.stream_write_value)(line.stream, n.at, uint32_t(n.value), n.flags),
          n.act == kWait ? "cuStreamWaitValue32" : "cuStreamWriteValue32");
  }
  all.clear();
}

// Until the slot of the next piece to a rank is free.
void PeerMemory::await_slot(int channel, int peer) {
  Channel& c = channels_[channel];
  number(c.out, kWait, flag(channel, rank_, peer, true), c.sent[size_t(peer)] + 1 - kSlots);
}

// Those from `first` on; the last one's number goes together with the wait for the slot of the piece after it.
void PeerMemory::send_pieces(int channel, const std::vector<Sent>& all, size_t first, size_t count) {
  Channel& c = channels_[channel];
  if (!first) await_slot(channel, all[0].peer);
  for (size_t i = first; i < first + count; ++i) {
    const auto& [peer, from, bytes] = all[i];
    uint32_t& sent = c.sent[size_t(peer)];
    flush(c.out);
    cuda::check(
        cuda::driver().memcpy_async(slot(channel, peer, rank_, sent), from, bytes, c.out.stream), "cuMemcpyAsync");
    number(c.out, kWrite, flag(channel, peer, rank_, false), ++sent);
    if (i + 1 < all.size()) await_slot(channel, all[i + 1].peer);
    flush(c.out);
  }
}

// Where the next piece lies, for what the channel's stream gets now.
cuda::CUdeviceptr PeerMemory::await_piece(int channel, int peer) {
  Channel& c = channels_[channel];
  uint32_t& count = c.received[size_t(peer)];
  const cuda::CUdeviceptr from = slot(channel, rank_, peer, count);
  number(c.in, kWait, flag(channel, rank_, peer, false), ++count);
  return from;
}

// It goes with what the stream waits for next: the other rank has more slots.
void PeerMemory::free_piece(int channel, int peer) {
  Channel& c = channels_[channel];
  number(c.in, kWrite, flag(channel, peer, rank_, true), c.received[size_t(peer)]);
}

void PeerMemory::receive_piece(int channel, int peer, cuda::CUdeviceptr to, size_t bytes) {
  const cuda::CUdeviceptr from = await_piece(channel, peer);
  Line& in = channels_[channel].in;
  flush(in);
  cuda::check(cuda::driver().memcpy_async(to, from, bytes, in.stream), "cuMemcpyAsync");
  free_piece(channel, peer);
}

cuda::CUstream PeerMemory::exchange(
    const std::vector<Message>& sent, const std::vector<Message>& received, cuda::CUstream current, cuda::CUevent end) {
  Channel& c = channels_[messages];
  begin(current, {&c.out, &c.in});
  std::vector<Sent> out, in;
  std::vector<const Message*> own;  // of the messages to itself, what is sent
  for (const auto& [all, pieces] : {std::pair{&sent, &out}, {&received, &in}})
    for (const Message& m : *all) {
      if (m.peer == rank_ && pieces == &out) own.push_back(&m);
      if (m.peer == rank_) continue;
      for (size_t at = 0; at < m.bytes; at += slot_bytes_)
        pieces->push_back({m.peer, address(m.data) + at, std::min(slot_bytes_, m.bytes - at)});
    }
  size_t next = 0;
  for (const Message& m : received) {
    if (m.peer != rank_) continue;
    CHECK(Kind::Value, next < own.size() && own[next]->bytes == m.bytes,
        "exchange: a message to itself is received once");
    cuda::check(cuda::driver().memcpy_async(address(m.data), address(own[next++]->data), m.bytes, c.in.stream),
        "cuMemcpyAsync");
  }
  // Sends and receives in turn: where a stream runs a call at once, as the tests' driver does, none waits for what comes after it.
  for (size_t i = 0; i < std::max(out.size(), in.size()); ++i) {
    if (i < out.size()) send_pieces(messages, out, i, 1);
    if (i < in.size()) receive_piece(messages, in[i].peer, in[i].from, in[i].bytes);
  }
  flush(c.in);
  join(c.out, c.in);
  cuda::check(cuda::driver().event_record(end, c.in.stream), "cuEventRecord");
  return c.in.stream;
}

void PeerMemory::add_pieces(const Rows& r, size_t at, size_t bytes, double factor) {
  RowsAt rows_at{.count = size_};
  void* out = static_cast<char*>(r.out) + at;
  uint64_t all = address(out);
  for (int rank = 0; rank < size_; ++rank) {
    rows_at.at[rank] = rank == rank_ ? address(r.data) + size_t(rank) * r.bytes + at : await_piece(rows, rank);
    all |= rows_at.at[rank];
  }
  Line& in = channels_[rows].in;
  flush(in);
  const int64_t n = int64_t(bytes / itemsize(r.dtype));
  const int64_t blocks = std::clamp<int64_t>(int64_t(bytes) / 16 / kAdderThreads, 1, kAdderBlocks);
  const auto f = adder(r.dtype, device_);
  CHECK(Kind::Runtime, f, "torch.distributed: no kernel adds ", scalar_name(r.dtype),
      " here; without SHIM_PEER_COPIES NCCL does it");
  cuda::entries::joined_rows::joined_rows::with(
      [&](void** arguments) { cuda::launch_on(in.stream, f.function, blocks, kAdderThreads, arguments); }, out, rows_at,
      n, int(all % 16 == 0), factor == 1 ? 0 : 4 /* kScaledSum */, factor);
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) free_piece(rows, rank);
}

// Pieces of all phases in turn: while one is added up, the next is on its way to it, and the one before on its way back.
cuda::CUstream PeerMemory::reduce(
    const std::vector<Rows>& all, double factor, bool spread, cuda::CUstream current, cuda::CUevent end) {
  Channel &a = channels_[rows], &b = channels_[sums];
  begin(current, {&a.out, &a.in, &b.out, &b.in});
  struct Part {
    const Rows& of;
    size_t at, bytes;
  };
  std::vector<Part> parts;
  std::vector<Sent> out, back;
  for (const Rows& r : all) {
    const size_t most = piece_bytes(r.bytes);
    for (size_t at = 0; at < r.bytes; at += most) {
      const size_t bytes = std::min(most, r.bytes - at);
      parts.push_back({r, at, bytes});
      for (int step = 1; step < size_; ++step) {
        const int to = (rank_ + step) % size_;
        out.push_back({to, address(r.data) + size_t(to) * r.bytes + at, bytes});
        back.push_back({to, address(r.out) + at, bytes});
      }
    }
  }
  const auto others = size_t(size_ - 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& [r, at, bytes] = parts[i];
    send_pieces(rows, out, i * others, others);
    add_pieces(r, at, bytes, factor);
    if (!spread) continue;
    join(a.in, b.out);
    send_pieces(sums, back, i * others, others);
    for (int step = 1; step < size_; ++step) {
      const int source = (rank_ + size_ - step) % size_;
      receive_piece(sums, source, address(r.data) + size_t(source) * r.bytes + at, bytes);
    }
  }
  Line& last = spread ? b.in : a.in;
  flush(a.in);
  flush(b.in);
  join(a.out, last);
  if (spread) join(b.out, last);
  cuda::check(cuda::driver().event_record(end, last.stream), "cuEventRecord");
  return last.stream;
}

}  // namespace shim::distributed
