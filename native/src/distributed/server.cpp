// The server of TCPStore: one thread, one table.
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace shim::distributed {
namespace {

// A socket that listens at the port, or -1 and why not in errno. Several processes may have bound it before one listens;
// where two listen at the same moment Linux refuses both, so who was refused there tries again a little later.
int listening_at(const sockaddr* address, socklen_t size) {
  constexpr int kTries = 50;
  for (int tries = 0;; ++tries) {
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0;
    if (fd < 0) return -1;
    if (address->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = bind(fd, address, size) == 0;
    if (bound && listen(fd, 2048) == 0) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    if (!bound || error != EADDRINUSE || tries == kTries) return -1;
    std::this_thread::sleep_for(std::chrono::microseconds(std::random_device()() % 20000));
  }
}

int listen_at(int port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6, address.sin6_addr = in6addr_any, address.sin6_port = htons(uint16_t(port));
  int fd = listening_at(reinterpret_cast<sockaddr*>(&address), sizeof address);
  if (fd < 0 && errno != EADDRINUSE) {  // a system without IPv6
    sockaddr_in old{};
    old.sin_family = AF_INET, old.sin_port = htons(uint16_t(port));
    fd = listening_at(reinterpret_cast<sockaddr*>(&old), sizeof old);
  }
  if (fd >= 0) return fd;
  const int error = errno;
  fail_between(FailureKind::network,
      "The server socket has failed to listen on any local network address. port: ", port,
      ", useIpv6: false, code: ", -error, ", name: ", error == EADDRINUSE ? "EADDRINUSE" : "",
      ", message: ", error == EADDRINUSE ? "address already in use" : std::strerror(error));
}

}  // namespace

struct Server {
  struct Client {
    Socket socket;
    std::string in, out;
    bool greeted = false, over = false, left = false;
    std::string world;  // of the rank whose life this connection tells
    int rank = -1;
    std::optional<Request> waiting;
    Clock::time_point until;
  };

  explicit Server(int fd) : listening(fd), wake(eventfd(0, EFD_CLOEXEC)), thread([this] { serve(); }) {}
  ~Server() {
    const uint64_t one = 1;
    ending = true;
    if (getpid() == owner && write(wake.fd(), &one, sizeof one) > 0)
      thread.join();
    else
      thread.detach();  // of a process that this one was forked from
  }

  void serve();
  void accept_one();
  void read_from(Client&);
  void take(Client&, const Request&);
  void answer_waiting();
  void flush(Client&);
  void reply(Client& c, const Reply& r) {
    c.out += framed(packed(r));
    flush(c);
  }
  void tell_gone(const std::string& world, int rank, bool in_order);
  int next_deadline() const;

  const pid_t owner = getpid();
  Socket listening, wake;
  std::atomic<bool> ending{false};
  Table table;
  std::list<Client> clients;
  std::map<std::string, std::map<int, bool>> gone;  // by world: rank -> in order
  std::thread thread;
};

void Server::accept_one() {
  const int fd = accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
  if (fd < 0) return;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  clients.emplace_back().socket = Socket(fd);
}

void Server::flush(Client& c) {
  while (!c.out.empty() && !c.over) {
    const ssize_t sent = send(c.socket.fd(), c.out.data(), c.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      c.out.erase(0, size_t(sent));
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR)
      c.over = true;
  }
}

void Server::tell_gone(const std::string& world, int rank, bool in_order) {
  if (!gone[world].try_emplace(rank, in_order).second) return;
  for (Client& c : clients)
    if (!c.over && c.world == world && c.rank != rank)
      reply(c, {.outcome = in_order ? Outcome::left : Outcome::dead, .number = rank});
}

void Server::take(Client& c, const Request& r) {
  if (r.ask == Ask::join && r.keys.size() == 1) {
    c.world = r.keys[0], c.rank = int(r.number);
    gone[c.world].erase(c.rank);
    reply(c, {});
    for (const auto& [rank, in_order] : gone[c.world])
      reply(c, {.outcome = in_order ? Outcome::left : Outcome::dead, .number = rank});
  } else if (r.ask == Ask::leave) {
    c.left = true;
    tell_gone(c.world, c.rank, true);
    reply(c, {});
  } else if (std::optional<Reply> found = table.answer(r)) {
    reply(c, *found);
    if (Table::changes(r.ask)) answer_waiting();
  } else if (r.timeout <= 0) {
    reply(c, {.outcome = Outcome::late});
  } else {
    c.waiting = r, c.until = Clock::now() + Milliseconds(r.timeout);
  }
}

void Server::answer_waiting() {
  for (bool changed = true; changed;) {  // a queue's element that is taken changes what the others find
    changed = false;
    for (Client& c : clients) {
      if (!c.waiting || c.over) continue;
      const std::optional<Reply> found = table.answer(*c.waiting);
      if (!found && Clock::now() < c.until) continue;
      changed = changed || (found && Table::changes(c.waiting->ask));
      c.waiting.reset();
      reply(c, found ? *found : Reply{.outcome = Outcome::late});
    }
  }
}

void Server::read_from(Client& c) {
  char bytes[65536];
  for (;;) {
    const ssize_t got = recv(c.socket.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) c.in.append(bytes, size_t(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) c.over = true;
    if (got < ssize_t(sizeof bytes)) break;
  }
  constexpr size_t greeting = sizeof kGreeting - 1;
  if (!c.greeted && c.in.size() >= greeting) {
    c.greeted = c.in.compare(0, greeting, kGreeting) == 0;
    c.over = c.over || !c.greeted;  // somebody else's protocol
    c.in.erase(0, greeting);
  }
  size_t at = 0;
  while (c.greeted && c.in.size() - at >= 4) {
    uint32_t size = 0;
    std::memcpy(&size, c.in.data() + at, sizeof size);
    if (size > kMostBytes) c.over = true;
    if (c.over || c.in.size() - at - 4 < size) break;
    Request r;
    if (!unpack(std::string_view(c.in).substr(at + 4, size), &r)) {
      c.over = true;
      break;
    }
    at += 4 + size;
    take(c, r);
  }
  c.in.erase(0, at);
}

int Server::next_deadline() const {
  auto next = Clock::now() + std::chrono::seconds(10);
  for (const Client& c : clients)
    if (c.waiting) next = std::min(next, c.until);
  return int(std::max<int64_t>(0, std::chrono::duration_cast<Milliseconds>(next - Clock::now()).count() + 1));
}

void Server::serve() {
  std::vector<pollfd> polled;
  std::vector<Client*> who;
  while (!ending) {
    polled = {{wake.fd(), POLLIN, 0}, {listening.fd(), POLLIN, 0}};
    who.clear();
    for (Client& c : clients) {
      polled.push_back({c.socket.fd(), short(c.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      who.push_back(&c);
    }
    if (poll(polled.data(), polled.size(), next_deadline()) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < who.size(); ++i) {
      if (polled[i + 2].revents & POLLOUT) flush(*who[i]);
      if (polled[i + 2].revents & ~POLLOUT) read_from(*who[i]);
    }
    if (polled[1].revents) accept_one();
    answer_waiting();
    for (Client& c : clients)
      if (c.over && c.rank >= 0 && !c.left) tell_gone(c.world, c.rank, false), c.left = true;
    clients.remove_if([](const Client& c) { return c.over; });
  }
}

std::shared_ptr<Server> start_server(int port, int listening) {
  return std::make_shared<Server>(listening >= 0 ? listening : listen_at(port));
}

int port_of(const Server& server) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(server.listening.fd(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace shim::distributed
