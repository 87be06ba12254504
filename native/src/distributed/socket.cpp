#include "distributed/socket.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace shim::distributed {
namespace {

int left_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<Milliseconds>(until - Clock::now()).count();
  return left <= 0 ? 0 : left > 3600'000 ? 3600'000 : int(left) + 1;
}

int one_try(const addrinfo* address, Clock::time_point until) {
  const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd waited{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&waited, 1, left_until(until)) <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = ETIMEDOUT;
  }
  if (error) return close(fd), -1;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  return fd;
}

// 1, 0 and -1 as receive() gives.
int read_exactly(int fd, char* to, size_t n, Clock::time_point until) {
  while (n) {
    const ssize_t got = recv(fd, to, n, MSG_DONTWAIT);
    if (got > 0) {
      to += got, n -= size_t(got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return -1;
    pollfd waited{fd, POLLIN, 0};
    if (poll(&waited, 1, left_until(until)) == 0 && Clock::now() >= until) return 0;
  }
  return 1;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

void Socket::shut() const noexcept { shutdown(fd_, SHUT_RDWR); }

std::string framed(const std::string& bytes) {
  const uint32_t size = uint32_t(bytes.size());
  std::string all(reinterpret_cast<const char*>(&size), sizeof size);
  return all += bytes;
}

Socket connected(const std::string& host, int port, Clock::time_point until) {
  const auto began = Clock::now();
  do {
    addrinfo hints{}, *found = nullptr;
    hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(host.c_str(), str(port).c_str(), &hints, &found) == 0) {
      int fd = -1;
      for (const addrinfo* a = found; a && fd < 0; a = a->ai_next) fd = one_try(a, until);
      freeaddrinfo(found);
      if (fd >= 0) return Socket(fd);
    }
    std::this_thread::sleep_for(Milliseconds(20));
  } while (Clock::now() < until);
  const auto took = std::chrono::duration_cast<Milliseconds>(until - began).count();
  fail_between(FailureKind::network, "The client socket has timed out after ", took, "ms while trying to connect to (",
      host, ", ", port, ").");
}

bool send_all(int fd, const std::string& bytes) {
  const char* at = bytes.data();
  for (size_t n = bytes.size(); n;) {
    const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
    if (sent > 0) {
      at += sent, n -= size_t(sent);
    } else if (errno == EAGAIN) {
      pollfd waited{fd, POLLOUT, 0};
      poll(&waited, 1, 1000);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

int receive(int fd, std::string* frame, Clock::time_point until) {
  uint32_t size = 0;
  const int got = read_exactly(fd, reinterpret_cast<char*>(&size), sizeof size, until);
  if (got != 1) return got;
  if (size > kMostBytes) return -1;
  frame->resize(size);
  return read_exactly(fd, frame->data(), size, until);
}

}  // namespace shim::distributed
