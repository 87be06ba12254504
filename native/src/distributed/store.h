#pragma once
// Keys and values that processes agree by. A store answers requests; a memory's, a server's and a file's are the same ones.
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "distributed/failure.h"
#include "distributed/peers.h"

namespace shim::distributed {

enum class Ask : uint8_t {
  set,
  get,     // waits
  add,     // of `number`; the sum is stored as decimal text
  append,  // creates
  swap,    // compare_set: `expected` -> `value`
  check,   // whether all keys are there
  wait,    // until they are
  remove,  // whether it was there
  count,   // the number of keys
  list,    // the keys
  push,    // onto a key's queue
  pop,     // from it; waits unless `timeout` is 0
  length,  // of it
  join,  // this connection is that of the rank `number` in the world keys[0]; answered, then one reply for each rank that goes
  leave  // it ends well
};

struct Request {
  Ask ask = Ask::check;
  std::vector<std::string> keys;
  std::string value, expected;
  int64_t number = 0;
  int64_t timeout = 0;  // milliseconds
};

enum class Outcome : uint8_t { done, late, refused, dead, left };

struct Reply {
  Outcome outcome = Outcome::done;
  int64_t number = 0;
  std::string value;  // what was asked for; a refusal's reason
  std::vector<std::string> list;
};

constexpr size_t kMostValue = size_t(1) << 29;

std::string packed(const Request&);
std::string packed(const Reply&);
bool unpack(std::string_view, Request*);  // false: the bytes are none
bool unpack(std::string_view, Reply*);

class Store {
 public:
  virtual ~Store() = default;
  // Waits for keys as long as the request's timeout. Throws Failure where the store is out of reach.
  virtual Reply call(const Request&) = 0;
  // Tells this process's rank to the others of a world and `peers` of those that go. What it gives back ends that, saying so.
  virtual std::shared_ptr<void> join(const std::string& world, int rank, int size, std::shared_ptr<Peers> peers) = 0;
};

// The table itself, for one thread at a time.
class Table {
 public:
  std::optional<Reply> answer(const Request&);  // none: it has to wait
  static bool changes(Ask a) {
    return a <= Ask::append || a == Ask::swap || a == Ask::remove || a == Ask::push || a == Ask::pop;
  }

 private:
  bool has(const std::string& key) const;
  Reply add(const Request&);
  Reply swap(const Request&);
  std::unordered_map<std::string, std::string> values_;
  std::unordered_map<std::string, std::deque<std::string>> queues_;
};

class MemoryStore final : public Store {  // HashStore: for the threads of a process
 public:
  Reply call(const Request&) override;
  std::shared_ptr<void> join(const std::string& world, int rank, int size, std::shared_ptr<Peers>) override;

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  Table table_;
};

// A log of requests that change something, in a file that every process appends to and reads.
std::shared_ptr<Store> file_store(const std::string& path);

struct Server;  // answers on a port, in a thread, as long as it lives
std::shared_ptr<Server> start_server(
    int port, int listening);  // port 0: any; `listening`: -1 or a socket that listens already
int port_of(const Server&);
// A client of the server at an address. Throws Failure (network) when nobody answers in time. `server` lives as long.
std::shared_ptr<Store> tcp_store(
    const std::string& host, int port, Milliseconds timeout, std::shared_ptr<Server> server);

}  // namespace shim::distributed
