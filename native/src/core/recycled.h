#pragma once
// Small objects that come and go all the time: their memory is recycled, thread by thread.
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "core/sanitized.h"

namespace shim {

template <class T> class Recycled {  // a base of T, which no class derives from
 public:
  static void* operator new(size_t bytes) {
    Blocks& b = blocks_;
    if (!b.first) return ::operator new(bytes);
    void* p = b.first;
    b.first = *static_cast<void**>(p);
    --b.count;
    return p;
  }
  static void operator delete(void* p) {
    Blocks& b = blocks_;
    if (b.count == b.room && !make_room(b)) return ::operator delete(p);
    *static_cast<void**>(p) = b.first;
    b.first = p;
    ++b.count;
  }

 private:
  static constexpr uint32_t kMost = 1024;
  struct Blocks {  // of a thread: plain data, so that it is there for as long as the thread is
    void* first;
    uint32_t count, room;  // room: none before the first block, and once the thread ends
    bool ended;
  };
  static void drain(void* of_thread) {
    Blocks& b = *static_cast<Blocks*>(of_thread);
    b.room = 0;
    b.ended = true;
    while (void* p = b.first) {
      b.first = *static_cast<void**>(p);
      ::operator delete(p);
    }
    b.count = 0;
  }
  // Drains as a thread ends. A thread_local with a destructor would do so too, but ends the process where there is no memory to note it.
  struct AtEnd {
    pthread_key_t key = 0;
    bool made = !pthread_key_create(&key, drain);
  };
  [[gnu::noinline]] static bool make_room(Blocks& b) {
    if (kSanitized || b.room || b.ended || !at_end_.made || pthread_setspecific(at_end_.key, &b)) return false;
    b.room = kMost;
    return true;
  }
  static inline AtEnd at_end_;
  static inline constinit thread_local Blocks blocks_{};
};

}  // namespace shim
