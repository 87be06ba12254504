#include "core/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/large_blocks.h"
#include "core/sanitized.h"

namespace shim {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and enough for every vector unit
constexpr size_t kSmallest = 64, kLargestCached = 8192;
constexpr size_t kWorthLargePages = size_t(4) << 20;
constexpr size_t kClasses = 8;  // 64, 128, ..., 8192 bytes
constexpr size_t kPerClass = 64;

// Freed small blocks of this thread, kept for the next tensor of about that size.
struct Cache {
  std::vector<void*> blocks[kClasses];
  ~Cache() {
    for (auto& list : blocks)
      for (void* p : list) std::free(p);
    alive = false;
  }
  static thread_local bool alive;
};
thread_local bool Cache::alive = true;
thread_local Cache cache;

size_t class_of(size_t bytes) {
  size_t c = 0;
  for (size_t size = kSmallest; size < bytes; size *= 2) ++c;
  return c;
}

void free_large(void*, void* data) { std::free(data); }
void free_kept(void* context, void* data) {
  if (!keep_block(data, reinterpret_cast<size_t>(context))) std::free(data);
}

void free_small(void* context, void* data) {
  size_t c = reinterpret_cast<size_t>(context);
  if (!Cache::alive || cache.blocks[c].size() >= kPerClass || !keep_for_later(cache.blocks[c], data)) std::free(data);
}

// Fresh memory comes in as it is touched, a page at a time: of what is large, in large pages where the system has them on request.
void ask_for_large_pages([[maybe_unused]] void* p, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + kPage - 1) / kPage * kPage,
                  end = reinterpret_cast<uintptr_t>(p) + bytes;
  if (bytes >= kWorthLargePages)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: may be ignored
#endif
}

void* aligned(size_t bytes) {
  void* p = nullptr;  // as many bytes as asked for and no more, which a sanitizer watches
  if (posix_memalign(&p, kAlignment, bytes)) p = nullptr;
  CHECK(Kind::OutOfMemory, p,
      "[enforce fail at alloc_cpu] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
      " bytes. Error code 12 (Cannot allocate memory)");
  ask_for_large_pages(p, bytes);
  return p;
}

Ref<Storage> allocate_cpu(size_t bytes) {
  if (bytes == 0) return Ref<Storage>(new Storage(nullptr, 0, Device{}, nullptr, nullptr));
  if (kSanitized) return Ref<Storage>(new Storage(aligned(bytes), bytes, Device{}, free_large, nullptr));
  if (bytes >= kSmallestKept && bytes <= kLargestKept) {
    const size_t size = kept_size(bytes);
    void* p = take_kept_block(size);
    return Ref<Storage>(new Storage(p ? p : aligned(size), bytes, Device{}, free_kept, reinterpret_cast<void*>(size)));
  }
  if (bytes > kLargestCached) return Ref<Storage>(new Storage(aligned(bytes), bytes, Device{}, free_large, nullptr));
  size_t c = class_of(bytes);
  void* p;
  if (Cache::alive && !cache.blocks[c].empty()) {
    p = cache.blocks[c].back();
    cache.blocks[c].pop_back();
  } else {
    p = aligned(kSmallest << c);
  }
  return Ref<Storage>(new Storage(p, bytes, Device{}, free_small, reinterpret_cast<void*>(c)));
}

}  // namespace

DeviceAllocator& cuda_allocator() {
  static DeviceAllocator a;
  return a;
}

static Ref<Storage> own(Ref<Storage> s) {
  s->set_own();
  return s;
}

Ref<Storage> allocate(size_t bytes, Device device, bool pinned) {
  switch (device.type) {
    case DeviceType::cpu:
      if (!pinned) return own(allocate_cpu(bytes));
      CHECK(
          Kind::Runtime, cuda_allocator().allocate_pinned, "Cannot access accelerator device when none is available.");
      return cuda_allocator().allocate_pinned(bytes);
    case DeviceType::meta:
      return Ref<Storage>(new Storage(nullptr, bytes, Device{DeviceType::meta, -1}, nullptr, nullptr));
    case DeviceType::cuda:
      CHECK(Kind::Runtime, cuda_allocator().allocate,
          "Found no NVIDIA driver on your system: device 'cuda' cannot be used.");
      return own(cuda_allocator().allocate(bytes, device));
    default:
      fail(Kind::NotImplemented, "shim-torch has no tensors on device '", device_type_name(device.type),
          "': use cpu, cuda or meta");
  }
}

namespace {

std::mutex& lending() {
  static std::mutex m;
  return m;
}

}  // namespace

void Storage::take_back() noexcept {
  Ref<Storage> done;  // freed after the lock is
  std::lock_guard lock(lending());
  if (lent_.fetch_sub(1) == 1) done = std::move(replaced_);
}

void Storage::replace_data(Ref<Storage> other) {
  swap_data(*other);
  std::lock_guard lock(lending());
  if (!lent_) return;
  other->replaced_ = std::move(replaced_);
  replaced_ = std::move(other);
}

void Storage::swap_data(Storage& other) {
  for (Storage* s : {this, &other})
    if (s->hidden_) s->revealed();
  for (Storage* s : {this, &other}) s->largest_ = std::max(s->largest_, s->nbytes_);
  std::swap(data_, other.data_);
  std::swap(nbytes_, other.nbytes_);
  std::swap(deleter_, other.deleter_);
  std::swap(context_, other.context_);
  std::swap(resizable_, other.resizable_);
  std::swap(own_, other.own_);
  std::swap(exposed_, other.exposed_);
  for (Storage* s : {this, &other}) s->whole_ = s->shrunk() ? nullptr : s->data_, s->changed();
}

uint64_t Storage::contents() noexcept {
  static std::atomic<uint64_t> last{0};
  uint64_t number = contents_.load(std::memory_order_relaxed);
  if (!number) contents_.store(number = ++last, std::memory_order_relaxed);
  return number;
}

std::shared_ptr<std::atomic<uint32_t>> Storage::share_version() {
  if (!shared_version_) {
    shared_version_ = std::make_shared<std::atomic<uint32_t>>(inline_version_.load());
    version_ = shared_version_.get();
  }
  return shared_version_;
}

void Storage::resize(size_t bytes) {
  CHECK(Kind::Runtime, resizable_, "Trying to resize storage that is not resizable");
  if (hidden_) revealed();
  Ref<Storage> fresh = allocate(bytes, device_, pinned);
  size_t keep = std::min(bytes, nbytes_);
  if (device_.is_cpu() && keep) std::memcpy(fresh->data(), data_, keep);
  CHECK(Kind::NotImplemented, !device_.is_cuda() || !keep || copy_device, "resizing CUDA storage needs a driver");
  if (device_.is_cuda() && keep) copy_device(fresh->data(), data_, keep, device_);
  replace_data(std::move(fresh));
}

void (*Storage::copy_device)(void*, const void*, size_t, Device) = nullptr;
void (*Storage::run_deferred)(const Storage&) = nullptr;

void* Storage::revealed() const {
  if (hidden_ && run_deferred) run_deferred(*this);
  return data_;
}

void* Storage::hide() noexcept {
  void* memory = data_;
  hidden_ = true;  // first: a kernel of another thread may read the address without the lock
  std::atomic_thread_fence(std::memory_order_release);
  data_ = whole_ = nullptr;
  return memory;
}

void Storage::show(void* memory) noexcept {
  data_ = whole_ = memory;
  std::atomic_thread_fence(std::memory_order_release);
  hidden_ = false;
}

Ref<Storage> Storage::pending(size_t bytes, Device device) {
  Ref<Storage> s(new Storage(nullptr, bytes, device, nullptr, nullptr));
  s->own_ = true;
  s->hide();
  return s;
}

void Storage::fill_pending(Storage& made) {
  const bool asked = exposed_;  // somebody is about to get the address
  show(nullptr);
  nbytes_ = 0;  // it never held more than it gets
  swap_data(made);
  exposed_ = exposed_ || asked;
}

}  // namespace shim
