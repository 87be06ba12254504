#pragma once
// A block of bytes on one device, shared by tensors. Freed by `deleter(context, data)` when the last tensor goes,
// on whatever thread that happens; a deleter that needs Python takes the GIL itself.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/device.h"
#include "core/recycled.h"
#include "core/refcount.h"

namespace shim {

using Deleter = void (*)(void* context, void* data);

class Storage final : public RefCounted, public Recycled<Storage> {
 public:
  Storage(void* data, size_t nbytes, Device device, Deleter deleter, void* context)
      : data_(data), whole_(data), nbytes_(nbytes), device_(device), deleter_(deleter), context_(context) {}
  ~Storage() override {
    if (deleter_) deleter_(context_, data_);
  }
  // Where its memory is. What deferred operators are yet to read or write is hidden: they run before anybody gets to it, and may throw.
  void* data() const { return __builtin_expect(data_ != nullptr, 1) ? data_ : revealed(); }
  size_t nbytes() const noexcept { return nbytes_; }
  Device device() const noexcept { return device_; }
  Deleter deleter() const noexcept { return deleter_; }
  void* context() const noexcept { return context_; }     // the deleter's
  bool resizable() const noexcept { return resizable_; }  // false: memory of somebody else
  void set_resizable(bool v) noexcept { resizable_ = v; }
  bool pinned = false;
  bool overwritten = false;    // by a later replay of the CUDA graph whose memory it had
  uint32_t trace_session = 0;  // by whom and as what trace/ knows it, beside trace_slot
  void resize(size_t nbytes);  // keeps the bytes; throws if not resizable
  void swap_data(Storage& other);
  void replace_data(Ref<Storage> other);  // swaps; what is lent lives on
  // It holds less than it once did. Tensors made before may reach beyond its end: their memory is checked where it is asked for.
  bool shrunk() const noexcept { return nbytes_ < largest_; }
  void* whole() const noexcept {
    return whole_;
  }  // data(), but null where it shrunk: one test of a pointer finds all that is special
  // For who keeps an address without the GIL's protection (NumPy's arrays, DLPack): memory that is replaced meanwhile lives until the last is done.
  void lend() noexcept { lent_.fetch_add(1); }
  void take_back() noexcept;
  std::atomic<uint32_t>& version() noexcept {
    return *version_;
  }  // counts in-place writes (tensors may carry a counter of their own)
  std::shared_ptr<std::atomic<uint32_t>>
  share_version();  // that counter, for a tensor that leaves this storage and goes on counting
  void count_write() noexcept { ++*version_, changed(); }
  // A number of what it holds that no other contents of any storage have: who keeps a copy of them asks again. Versions do not tell: `.data`
  // has one of its own, and they can be set. Whoever writes says so, or who gives a writer the address (own_data()).
  uint64_t contents() noexcept;
  void changed() noexcept { contents_.store(0, std::memory_order_relaxed); }
  // Counts what may have written anywhere: graphs of the user's, collectives.
  static inline std::atomic<uint64_t> unseen_writes{0};
  void* pyobj = nullptr;  // the UntypedStorage object; borrowed unless keeps_object(), as a tensor's

  // Deferred operators (trace/). Only memory of our allocators whose address nobody was given can be hidden: its owner might use it otherwise.
  bool may_hide() const noexcept { return own_ && resizable_ && !exposed_ && !shrunk() && !lent_; }
  // Somebody outside has the address: while this thread borrows addresses, for a moment.
  void expose() {
    settle();
    exposed_ = exposed_ || !borrows_addresses;
  }
  // Before values are read without an operator: while deferred operators run that let go of the interpreter's lock, others wait here.
  void settle() const {
    if (others_wait.load(std::memory_order_relaxed) && run_deferred) run_deferred(*this);
  }
  static inline std::atomic<bool> others_wait{false};
  static inline constinit thread_local bool borrows_addresses = false;
  void set_own() noexcept { own_ = true; }  // nobody else has it
  bool hidden() const noexcept { return hidden_; }
  void* hide() noexcept;  // its memory, which whoever hides it keeps, and the storage alive, until show(memory)
  void show(void* memory) noexcept;
  bool has_memory() const noexcept { return data_ || hidden_; }                  // or will have
  static Ref<Storage> pending(size_t nbytes, Device);                            // hidden, and without memory yet
  void fill_pending(Storage& made);                                              // takes over what was made
  static void (*run_deferred)(const Storage& asked);                             // shows it; set by trace/
  static void (*copy_device)(void* to, const void* from, size_t bytes, Device);  // set by src/cuda

 private:
  void destroy() override { delete this; }
  std::atomic<uint32_t> inline_version_{0};
  std::atomic<uint32_t> lent_{0};
  std::atomic<uint64_t> contents_{0};  // 0: nobody asked since they changed
  std::atomic<uint32_t>* version_ = &inline_version_;
  std::shared_ptr<std::atomic<uint32_t>> shared_version_;  // where version_ points once the counter was shared
  void* revealed() const;
  void *data_, *whole_;
  size_t nbytes_;
  Device device_;
  Deleter deleter_;
  void* context_;
  bool resizable_ = true, own_ = false, exposed_ = false, hidden_ = false;

 public:
  uint32_t trace_slot = 0;
  std::atomic<uint32_t> awaited{0};  // how many tensors over it are kept for backward

 private:
  size_t largest_ = 0;     // what it held before it shrunk; no tensor reaches further
  Ref<Storage> replaced_;  // memory that was lent when it was replaced
};

// Memory is lent for as long as this lives.
class Lent {
 public:
  explicit Lent(Ref<Storage> s) : storage_(std::move(s)) { storage_->lend(); }
  Lent(const Lent&) = delete;
  ~Lent() { storage_->take_back(); }

 private:
  Ref<Storage> storage_;
};

// A backward pass is to come that reads the memory. It is counted once there are graphs, which write again to what they gave.
class Awaited {
 public:
  Awaited() = default;
  explicit Awaited(Ref<Storage> s) : storage_(std::move(s)) { add(1); }
  Awaited(const Awaited& o) : storage_(o.storage_) { add(1); }
  Awaited(Awaited&& o) noexcept { std::swap(storage_, o.storage_); }
  Awaited& operator=(Awaited o) noexcept { return std::swap(storage_, o.storage_), *this; }
  ~Awaited() { add(uint32_t(-1)); }
  static inline std::atomic<bool> counted{false};

 private:
  void add(uint32_t n) const {
    if (storage_) storage_->awaited.fetch_add(n, std::memory_order_relaxed);
  }
  Ref<Storage> storage_;
};

// Allocates on cpu (64-byte aligned), cuda (stream-ordered pool of the driver) or meta (no memory: data() is null).
Ref<Storage> allocate(size_t nbytes, Device device, bool pinned = false);

// How cuda memory and pinned memory is got; installed by src/cuda when a driver is there.
struct DeviceAllocator {
  Ref<Storage> (*allocate)(size_t nbytes, Device) = nullptr;
  Ref<Storage> (*allocate_pinned)(size_t nbytes) = nullptr;
};
DeviceAllocator& cuda_allocator();

}  // namespace shim
