// NCCL for machines without a GPU: device memory is host memory (driver.cpp), messages are files of a folder that the ranks share, and
// everything has happened when the call returns. Where a peer does not come in time, the call returns and the driver's
// events are never reached: what a GPU does that waits for it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

struct Comm {
  std::string folder;
  int rank = 0, size = 0;
  long collectives = 0;
  std::map<std::string, long> messages;
  std::map<int, std::string> factors;
  bool aborted = false;
};
struct Id {
  char bytes[128];
};
struct Part {
  std::function<void()> post, finish;
};

static thread_local int depth = 0;
static thread_local std::vector<Part> queued;
static void* last_stream = nullptr;
static int last_parts = 0, async_error = 0, aborts = 0, asked_locked = 0, asked_unlocked = 0;

static long patience() {
  const char* given = std::getenv("SIMULATED_NCCL_PATIENCE");
  return given ? std::atol(given) : 30000;
}
static void events_wait(int yes) {
  reinterpret_cast<void (*)(int)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simulated_events_wait"))(yes);
}
static void put(const std::string& path, const void* data, size_t n) {
  const std::string own = path + ".part";
  FILE* f = std::fopen(own.c_str(), "wb");
  std::fwrite(data, 1, n, f);
  std::fclose(f);
  std::rename(own.c_str(), path.c_str());
}
static bool get(const std::string& path, std::string* to) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience());
  for (;;) {
    if (FILE* f = std::fopen(path.c_str(), "rb")) {
      to->clear();
      char bytes[65536];
      for (size_t n; (n = std::fread(bytes, 1, sizeof bytes, f)) > 0;) to->append(bytes, n);
      std::fclose(f);
      return true;
    }
    if (std::chrono::steady_clock::now() > end) {
      events_wait(1);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}
static int run(Part p, void* stream) {
  last_stream = stream;
  reinterpret_cast<void (*)(void*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simulated_work"))(stream);
  if (depth) return queued.push_back(std::move(p)), 0;
  last_parts = 1;
  p.post(), p.finish();
  return 0;
}

static const size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
struct Bf16 {
  uint16_t bits;
  operator float() const {
    uint32_t b = uint32_t(bits) << 16;
    float f;
    std::memcpy(&f, &b, 4);
    return f;
  }
  Bf16(float f = 0) {
    uint32_t b;
    std::memcpy(&b, &f, 4);
    bits = uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
};
template <class T, class A>
static void reduced(
    const std::vector<std::string>& all, void* to, size_t n, int op, const std::vector<std::string>& factors) {
  for (size_t i = 0; i < n; ++i) {
    A total{};
    for (size_t r = 0; r < all.size(); ++r) {
      T v;
      std::memcpy(&v, all[r].data() + i * sizeof v, sizeof v);
      A x = A(v);
      if (op >= 5) {
        T factor;
        std::memcpy(&factor, factors[r].data(), sizeof factor);
        x = A(T(x * A(factor)));  // rounded, as NCCL does
      }
      total = r == 0    ? x
              : op == 1 ? A(total * x)
              : op == 2 ? (x > total ? x : total)
              : op == 3 ? (x < total ? x : total)
                        : A(total + x);
    }
    if (op == 4) total = A(total / A(all.size()));
    const T result = T(total);
    std::memcpy(static_cast<char*>(to) + i * sizeof result, &result, sizeof result);
  }
}
static void reduce_all(
    const std::vector<std::string>& all, void* to, size_t n, int type, int op, const std::vector<std::string>& f) {
  switch (type) {
    case 0: return reduced<int8_t, int8_t>(all, to, n, op, f);
    case 1: return reduced<uint8_t, uint8_t>(all, to, n, op, f);
    case 2: return reduced<int32_t, int32_t>(all, to, n, op, f);
    case 3: return reduced<uint32_t, uint32_t>(all, to, n, op, f);
    case 4: return reduced<int64_t, int64_t>(all, to, n, op, f);
    case 5: return reduced<uint64_t, uint64_t>(all, to, n, op, f);
    case 6: return reduced<_Float16, float>(all, to, n, op, f);
    case 7: return reduced<float, float>(all, to, n, op, f);
    case 8: return reduced<double, double>(all, to, n, op, f);
    case 9: return reduced<Bf16, float>(all, to, n, op, f);
  }
}

// What every rank's bytes become: `take(all, factors)`, once all are there.
using All = std::vector<std::string>;
static int collective(
    Comm* c, const void* data, size_t bytes, int op, void* stream, std::function<void(const All&, const All&)> take) {
  const std::string key = c->folder + "/c" + std::to_string(c->collectives++) + ".";
  const std::string factor = op >= 5 ? c->factors[op] : std::string();
  return run({[=] {
                put(key + std::to_string(c->rank) + ".factor", factor.data(), factor.size());
                put(key + std::to_string(c->rank), data, bytes);
              },
                 [=] {
                   All all, factors;
                   std::string one;
                   for (int r = 0; r < c->size; ++r) {
                     if (!get(key + std::to_string(r), &one)) return;
                     all.push_back(one);
                     get(key + std::to_string(r) + ".factor", &one);
                     factors.push_back(one);
                   }
                   take(all, factors);
                 }},
      stream);
}

extern "C" {

void* simulated_nccl_stream() { return last_stream; }
int simulated_nccl_parts() { return last_parts; }
int simulated_nccl_aborts() { return aborts; }
// In the place of CuPy's function for the current stream, which needs the interpreter's lock.
intptr_t simulated_stream_getter(int) {
  const auto check = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
  ++(check && check() ? asked_locked : asked_unlocked);
  return 0;
}
int simulated_stream_asked(int locked) { return locked ? asked_locked : asked_unlocked; }
void simulated_nccl_error(int r) { async_error = r; }

int ncclGetVersion(int* v) { return *v = 22809, 0; }
const char* ncclGetErrorString(int r) {
  return r == 6 ? "remote process exited or there was a network error" : "simulated";
}
const char* ncclGetLastError(Comm*) { return ""; }
int ncclGetUniqueId(Id* id) {
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "nccl_%d_%ld", int(getpid()),
      long(std::chrono::steady_clock::now().time_since_epoch().count()));
  return 0;
}
int ncclCommInitRank(Comm** made, int size, Id id, int rank) {
  const char* base = std::getenv("SIMULATED_NCCL");
  auto* c = new Comm();
  c->folder = std::string(base ? base : "/tmp") + "/" + id.bytes;
  c->rank = rank, c->size = size;
  mkdir(c->folder.c_str(), 0700);
  put(c->folder + "/rank" + std::to_string(rank), "", 0);
  std::string nothing;
  for (int r = 0; r < size; ++r)
    if (!get(c->folder + "/rank" + std::to_string(r), &nothing)) return 6;
  *made = c;
  return 0;
}
int ncclCommSplit(Comm* c, int color, int key, Comm** made, void*) {
  int mine[2] = {color, key};
  *made = nullptr;
  All all;
  collective(c, mine, sizeof mine, 0, nullptr, [&all](const All& a, const All&) { all = a; });
  if (color < 0) return 0;
  auto* n = new Comm();
  n->folder = c->folder + "/s" + std::to_string(c->collectives) + "_" + std::to_string(color);
  mkdir(n->folder.c_str(), 0700);
  for (const std::string& one : all) {
    int other[2];
    std::memcpy(other, one.data(), sizeof other);
    n->size += other[0] == color;
  }
  n->rank = key;
  *made = n;
  return 0;
}
int ncclCommDestroy(Comm*) { return 0; }
int ncclCommAbort(Comm* c) {
  c->aborted = true, ++aborts;
  events_wait(0);
  return 0;
}
int ncclCommGetAsyncError(Comm*, int* r) { return *r = async_error, 0; }
int ncclGroupStart() { return ++depth, 0; }
int ncclGroupEnd() {
  if (--depth) return 0;
  std::vector<Part> all;
  all.swap(queued);
  last_parts = int(all.size());
  for (Part& p : all) p.post();
  for (Part& p : all) p.finish();
  return 0;
}
int ncclRedOpCreatePreMulSum(int* op, void* factor, int type, int, Comm* c) {
  *op = 5 + int(c->factors.size());
  c->factors[*op] = std::string(static_cast<char*>(factor), kSizes[type]);
  return 0;
}
int ncclRedOpDestroy(int, Comm*) { return 0; }

int ncclAllReduce(const void* from, void* to, size_t n, int type, int op, Comm* c, void* s) {
  return collective(
      c, from, n * kSizes[type], op, s, [=](const All& all, const All& f) { reduce_all(all, to, n, type, op, f); });
}
int ncclReduce(const void* from, void* to, size_t n, int type, int op, int root, Comm* c, void* s) {
  return collective(c, from, n * kSizes[type], op, s, [=](const All& all, const All& f) {
    if (c->rank == root) reduce_all(all, to, n, type, op, f);
  });
}
int ncclBroadcast(const void* from, void* to, size_t n, int type, int root, Comm* c, void* s) {
  return collective(c, from, c->rank == root ? n * kSizes[type] : 0, 0, s,
      [=](const All& all, const All&) { std::memcpy(to, all[size_t(root)].data(), n * kSizes[type]); });
}
int ncclAllGather(const void* from, void* to, size_t n, int type, Comm* c, void* s) {
  return collective(c, from, n * kSizes[type], 0, s, [=](const All& all, const All&) {
    for (size_t r = 0; r < all.size(); ++r)
      std::memcpy(static_cast<char*>(to) + r * n * kSizes[type], all[r].data(), n * kSizes[type]);
  });
}
int ncclReduceScatter(const void* from, void* to, size_t n, int type, int op, Comm* c, void* s) {
  return collective(c, from, n * kSizes[type] * size_t(c->size), op, s, [=](const All& all, const All& f) {
    All mine;
    for (const std::string& one : all) mine.push_back(one.substr(size_t(c->rank) * n * kSizes[type], n * kSizes[type]));
    reduce_all(mine, to, n, type, op, f);
  });
}
static std::string message(Comm* c, int from, int to, const char* end) {
  const std::string key = c->folder + "/m" + std::to_string(from) + "." + std::to_string(to) + ".";
  return key + std::to_string(c->messages[end + key]++);
}
int ncclSend(const void* from, size_t n, int type, int peer, Comm* c, void* s) {
  const std::string path = message(c, c->rank, peer, "send ");
  return run({[=] { put(path, from, n * kSizes[type]); }, [] {}}, s);
}
int ncclRecv(void* to, size_t n, int type, int peer, Comm* c, void* s) {
  const std::string path = message(c, peer, c->rank, "receive ");
  return run({[] {},
                 [=] {
                   std::string one;
                   if (get(path, &one)) std::memcpy(to, one.data(), n * kSizes[type]);
                 }},
      s);
}

}  // extern "C"
