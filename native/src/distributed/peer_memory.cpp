#include "distributed/peer_memory.h"

#include <algorithm>

namespace shim::distributed {
namespace {

constexpr size_t kSlotBytes = size_t(16) << 20;
constexpr uint32_t kSlots = 2;       // of each other rank: one is filled while the other is read
constexpr size_t kFlagStep = 128;    // a number has a line of its own
constexpr unsigned kAtLeast = 0;     // CU_STREAM_WAIT_VALUE_GEQ, of numbers that wrap
constexpr unsigned kNotOrdered = 1;  // CU_STREAM_NON_BLOCKING

}  // namespace

cuda::CUdeviceptr PeerMemory::slot(int owner, int source, uint32_t number) const {
  const size_t place = size_t(source) * kSlots + number % kSlots;
  return memory_->at(owner) + place * kSlotBytes;
}

cuda::CUdeviceptr PeerMemory::flag(int owner, int other, bool freed) const {
  const size_t slots = size_t(size_) * kSlots * kSlotBytes;
  return memory_->at(owner) + slots + (size_t(other) * 2 + freed) * kFlagStep;
}

void PeerMemory::make_streams() {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.stream_create(&sending_, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.stream_create(&receiving_, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.event_create(&begun_, 2), "cuEventCreate");
  cuda::check(d.event_create(&sent_all_, 2), "cuEventCreate");
}

// Whether the device can do with a rank's memory what messages need; nobody sends anything yet.
bool PeerMemory::tried(int other) {
  const cuda::Driver& d = cuda::driver();
  return d.memcpy_async(slot(other, rank_, 0), slot(rank_, other, 0), 64, sending_) == 0 &&
         d.stream_write_value(sending_, flag(other, rank_, false), 0, 0) == 0 &&
         d.stream_wait_value(sending_, flag(rank_, other, false), 0, kAtLeast) == 0 &&
         d.stream_synchronize(sending_) == 0;
}

std::unique_ptr<PeerMemory> PeerMemory::make(
    Store& store, const std::string& prefix, int rank, int size, int device, Milliseconds timeout) {
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device);
  std::unique_ptr<PeerMemory> made(new PeerMemory(rank, size, device));
  bool able = d.stream_write_value && d.stream_wait_value;
  try {
    made->make_streams();
  } catch (const Error&) { able = false; }
  const auto tried = [&made](OpenedMemory& m, int other) {
    made->memory_ = &m;
    return made->tried(other);
  };
  const size_t bytes = size_t(size) * (kSlots * kSlotBytes + 2 * kFlagStep);
  made->owned_ = OpenedMemory::make(store, prefix, rank, size, device, bytes, able, timeout, tried);
  made->memory_ = made->owned_.get();
  return made->memory_ ? std::move(made) : nullptr;
}

PeerMemory::~PeerMemory() {
  // The streams stay: memory that was used on them is given away behind them.
  for (cuda::CUevent e : {begun_, sent_all_})
    if (e) cuda::driver().event_destroy(e);
}

void PeerMemory::let_go() {
  const cuda::Driver& d = cuda::driver();
  const cuda::OnDevice on(device_);
  cuda::CUstream stream = nullptr;
  if (d.stream_create(&stream, kNotOrdered, 0) != 0) return;
  for (int other = 0; other < size_; ++other) {
    d.stream_write_value(stream, flag(rank_, other, false), received_[size_t(other)], 0);
    d.stream_write_value(stream, flag(rank_, other, true), sent_[size_t(other)], 0);
  }
}

void PeerMemory::send_piece(const Message& m, size_t at, size_t bytes) {
  const cuda::Driver& d = cuda::driver();
  uint32_t& count = sent_[size_t(m.peer)];
  if (count >= kSlots)
    cuda::check(
        d.stream_wait_value(sending_, flag(rank_, m.peer, true), count - kSlots + 1, kAtLeast), "cuStreamWaitValue32");
  const auto from = reinterpret_cast<cuda::CUdeviceptr>(m.data) + at;
  cuda::check(d.memcpy_async(slot(m.peer, rank_, count), from, bytes, sending_), "cuMemcpyAsync");
  cuda::check(d.stream_write_value(sending_, flag(m.peer, rank_, false), ++count, 0), "cuStreamWriteValue32");
}

void PeerMemory::receive_piece(const Message& m, size_t at, size_t bytes) {
  const cuda::Driver& d = cuda::driver();
  uint32_t& count = received_[size_t(m.peer)];
  const auto to = reinterpret_cast<cuda::CUdeviceptr>(m.data) + at;
  const cuda::CUdeviceptr from = slot(rank_, m.peer, count);
  cuda::check(d.stream_wait_value(receiving_, flag(rank_, m.peer, false), ++count, kAtLeast), "cuStreamWaitValue32");
  cuda::check(d.memcpy_async(to, from, bytes, receiving_), "cuMemcpyAsync");
  cuda::check(d.stream_write_value(receiving_, flag(m.peer, rank_, true), count, 0), "cuStreamWriteValue32");
}

void PeerMemory::exchange(
    const std::vector<Message>& sent, const std::vector<Message>& received, cuda::CUstream current, cuda::CUevent end) {
  const cuda::Driver& d = cuda::driver();
  cuda::check(d.event_record(begun_, current), "cuEventRecord");
  cuda::check(d.stream_wait_event(sending_, begun_, 0), "cuStreamWaitEvent");
  cuda::check(d.stream_wait_event(receiving_, begun_, 0), "cuStreamWaitEvent");
  // Sends and receives in turn: where a stream runs a call at once, as the tests' driver does, none waits for what comes after it.
  for (size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
    const size_t out = i < sent.size() ? sent[i].bytes : 0, in = i < received.size() ? received[i].bytes : 0;
    for (size_t at = 0; at < std::max(out, in); at += kSlotBytes) {
      if (at < out) send_piece(sent[i], at, std::min(kSlotBytes, out - at));
      if (at < in) receive_piece(received[i], at, std::min(kSlotBytes, in - at));
    }
  }
  cuda::check(d.event_record(sent_all_, sending_), "cuEventRecord");
  cuda::check(d.stream_wait_event(receiving_, sent_all_, 0), "cuStreamWaitEvent");
  cuda::check(d.event_record(end, receiving_), "cuEventRecord");
}

}  // namespace shim::distributed
