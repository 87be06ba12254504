#include "distributed/peer_memory.h"

#include <unistd.h>

#include <algorithm>

#include "distributed/descriptors.h"

namespace shim::distributed {
namespace {

constexpr size_t kSlotBytes = size_t(16) << 20;
constexpr uint32_t kSlots = 2;       // of each other rank: one is filled while the other is read
constexpr size_t kFlagStep = 128;    // a number has a line of its own
constexpr int kFileDescriptor = 1;   // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr unsigned kAtLeast = 0;     // CU_STREAM_WAIT_VALUE_GEQ, of numbers that wrap
constexpr unsigned kNotOrdered = 1;  // CU_STREAM_NON_BLOCKING

constexpr Milliseconds kMeeting{60000};  // of ranks that are all there

bool offered(const cuda::Driver& d) {
  return d.shared_create && d.shared_export && d.shared_import && d.address_reserve && d.shared_map &&
         d.shared_access && d.shared_granularity && d.stream_write_value && d.stream_wait_value;
}

// Whether this device reaches all others that this process sees: the ranks' devices are among them, or their memory cannot be mapped.
bool reaches_others(int device) {
  const cuda::Driver& d = cuda::driver();
  for (int other = 0; other < d.devices; ++other) {
    int yes = other == device;
    if (!yes && (!d.can_access_peer || d.can_access_peer(&yes, device, other) != 0)) return false;
    if (!yes) return false;
  }
  return true;
}

}  // namespace

cuda::CUdeviceptr PeerMemory::slot(int owner, int source, uint32_t number) const {
  const size_t place = size_t(source) * kSlots + number % kSlots;
  return blocks_[size_t(owner)].at + place * kSlotBytes;
}

cuda::CUdeviceptr PeerMemory::flag(int owner, int other, bool freed) const {
  const size_t slots = size_t(size_) * kSlots * kSlotBytes;
  return blocks_[size_t(owner)].at + slots + (size_t(other) * 2 + freed) * kFlagStep;
}

void PeerMemory::allocate() {
  const cuda::Driver& d = cuda::driver();
  const cuda::SharedAllocation how{.device = device_};
  size_t unit = 0;
  cuda::check(d.shared_granularity(&unit, &how, 0), "cuMemGetAllocationGranularity");
  bytes_ = size_t(size_) * (kSlots * kSlotBytes + 2 * kFlagStep);
  bytes_ = (bytes_ + unit - 1) / unit * unit;
  Block& own = blocks_[size_t(rank_)];
  cuda::check(d.shared_create(&own.handle, bytes_, &how, 0), "cuMemCreate");
  CHECK(Kind::Runtime, map(own), "cuMemMap refused its own memory");
  const cuda::CUdeviceptr flags = flag(rank_, 0, false);
  cuda::check(d.stream_create(&sending_, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.stream_create(&receiving_, kNotOrdered, 0), "cuStreamCreate");
  cuda::check(d.event_create(&begun_, 2), "cuEventCreate");
  cuda::check(d.event_create(&sent_all_, 2), "cuEventCreate");
  cuda::check(d.memset_async(flags, 0, size_t(size_) * 2 * kFlagStep, sending_), "cuMemsetD8Async");
  cuda::check(d.stream_synchronize(sending_), "cuStreamSynchronize");
}

bool PeerMemory::map(Block& b) {
  const cuda::Driver& d = cuda::driver();
  const cuda::MemoryAccess access{.location_type = 1, .device = device_, .flags = 3};
  if (d.address_reserve(&b.at, bytes_, 0, 0, 0) != 0) return false;
  if (d.shared_map(b.at, bytes_, 0, b.handle, 0) != 0) {
    if (d.address_free) d.address_free(b.at, bytes_);
    b.at = 0;
    return false;
  }
  return d.shared_access(b.at, bytes_, &access, 1) == 0;
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
  made->sent_.resize(size_t(size)), made->received_.resize(size_t(size));
  int own = -1;
  bool fine = on_one_host(store, prefix + "host", rank, timeout) && offered(d) && reaches_others(device);
  if (fine) {
    try {
      made->allocate();
      fine = d.shared_export(&own, made->blocks_[size_t(rank)].handle, kFileDescriptor, 0) == 0;
    } catch (const Error&) {
      fine = false;  // no memory is left, or a virtual machine forbids it
    }
  }
  std::vector<int> theirs;
  if (all_agree(store, prefix + "able", size, fine, timeout)) {
    try {
      theirs = exchange_descriptors(store, prefix + "names", rank, size, own, std::min(timeout, kMeeting));
    } catch (const Failure&) {
      fine = false;  // in containers without a way between them
    }
    for (int other = 0; fine && other < size; ++other) {
      if (other == rank) continue;
      Block& b = made->blocks_[size_t(other)];
      auto* descriptor = reinterpret_cast<void*>(intptr_t(theirs[size_t(other)]));
      fine = d.shared_import(&b.handle, descriptor, kFileDescriptor) == 0 && made->map(b) && made->tried(other);
    }
    fine = all_agree(store, prefix + "mapped", size, fine, timeout);
  } else {
    fine = false;
  }
  for (int fd : theirs)
    if (fd >= 0) close(fd);
  if (own >= 0) close(own);
  return fine ? std::move(made) : nullptr;
}

PeerMemory::~PeerMemory() {
  const cuda::Driver& d = cuda::driver();
  for (Block& b : blocks_) {
    if (b.at && d.shared_unmap && d.shared_unmap(b.at, bytes_) == 0 && d.address_free) d.address_free(b.at, bytes_);
    if (b.handle && d.shared_release) d.shared_release(b.handle);
  }
  // The streams stay: memory that was used on them is given away behind them.
  for (cuda::CUevent e : {begun_, sent_all_})
    if (e) d.event_destroy(e);
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
