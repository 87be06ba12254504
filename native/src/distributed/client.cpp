// The client of TCPStore: a connection for each call under way, kept for the next, and one that tells who is gone.
#include <thread>
#include <unistd.h>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace shim::distributed {
namespace {

[[noreturn]] void server_gone(const std::string& host, int port) {
  fail_between(FailureKind::network, "The connection to the store's server at (", host, ", ", port,
      ") was closed: the process that serves it has ended");
}

// Reads who goes, until it is dropped; then tells the others that this process leaves in order.
class Membership {
 public:
  Membership(Socket socket, std::shared_ptr<Peers> peers)
      : socket_(std::move(socket)), peers_(std::move(peers)), thread_([this] { read(); }) {}
  ~Membership() {
    if (getpid() != owner_) {  // a fork
      thread_.detach();
      return;
    }
    ending_ = true;
    send_all(socket_.fd(), framed(packed(Request{.ask = Ask::leave})));
    for (int waits = 0; !answered_ && waits < 500; ++waits) std::this_thread::sleep_for(Milliseconds(1));
    socket_.shut();
    thread_.join();
  }

 private:
  void read() {
    std::string frame;
    Reply told;
    while (receive(socket_.fd(), &frame, Clock::now() + std::chrono::hours(1)) >= 0) {
      if (frame.empty() || !unpack(frame, &told)) continue;
      frame.clear();
      if (told.outcome == Outcome::done)
        answered_ = true;
      else
        peers_->gone(int(told.number), told.outcome == Outcome::left);
    }
    answered_ = true;
    if (!ending_) peers_->lost();
  }

  const pid_t owner_ = getpid();
  Socket socket_;
  std::shared_ptr<Peers> peers_;
  std::atomic<bool> ending_{false}, answered_{false};
  std::thread thread_;
};

class TcpStore final : public Store {
 public:
  TcpStore(const std::string& host, int port, Milliseconds timeout, std::shared_ptr<Server> server)
      : server_(std::move(server)), host_(host), port_(port) {
    free_.push_back(connect(Clock::now() + timeout));
  }

  Reply call(const Request& r) override {
    Socket socket = borrow();
    std::string frame;
    // The server keeps the time; without an answer half a minute later it is stuck.
    const auto until = Clock::now() + Milliseconds(r.timeout) + std::chrono::seconds(30);
    if (!send_all(socket.fd(), framed(packed(r)))) server_gone(host_, port_);
    const int got = receive(socket.fd(), &frame, until);
    Reply reply;
    if (got == 0)
      fail_between(FailureKind::network, "The store's server at (", host_, ", ", port_, ") does not answer");
    if (got < 0 || !unpack(frame, &reply)) server_gone(host_, port_);
    const std::lock_guard held(lock_);
    free_.push_back(std::move(socket));
    return reply;
  }

  std::shared_ptr<void> join(const std::string& world, int rank, int, std::shared_ptr<Peers> peers) override {
    const auto until = Clock::now() + std::chrono::seconds(30);
    Socket socket = connect(until);
    std::string frame;
    Reply reply;
    if (!send_all(socket.fd(), framed(packed(Request{.ask = Ask::join, .keys = {world}, .number = rank}))) ||
        receive(socket.fd(), &frame, until) != 1 || !unpack(frame, &reply))
      server_gone(host_, port_);
    return std::make_shared<Membership>(std::move(socket), std::move(peers));
  }

 private:
  Socket connect(Clock::time_point until) const {
    Socket socket = connected(host_, port_, until);
    if (!send_all(socket.fd(), kGreeting)) server_gone(host_, port_);
    return socket;
  }

  Socket borrow() {
    {
      const std::lock_guard held(lock_);
      if (getpid() != owner_) {  // a fork shares its parent's connections: it takes none of them
        for (Socket& socket : free_) abandoned_.push_back(std::move(socket));
        free_.clear(), owner_ = getpid();
      }
      if (!free_.empty()) {
        Socket socket = std::move(free_.back());
        free_.pop_back();
        return socket;
      }
    }
    return connect(Clock::now() + std::chrono::seconds(10));
  }

  std::shared_ptr<Server> server_;
  const std::string host_;
  const int port_;
  std::mutex lock_;
  pid_t owner_ = getpid();
  std::vector<Socket> free_, abandoned_;
};

}  // namespace

std::shared_ptr<Store> tcp_store(
    const std::string& host, int port, Milliseconds timeout, std::shared_ptr<Server> server) {
  return std::make_shared<TcpStore>(host, port, timeout, std::move(server));
}

}  // namespace shim::distributed
