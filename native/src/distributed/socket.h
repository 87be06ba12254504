#pragma once
// Frames over TCP: four bytes of length, then as many bytes.
#include <string>

#include "distributed/failure.h"

namespace shim::distributed {

constexpr char kGreeting[] = "shim-torch store 1\n";
constexpr size_t kMostBytes = size_t(1) << 30;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const noexcept { return fd_; }
  void shut() const noexcept;  // both ways: who reads it sees its end

 private:
  int fd_ = -1;
};

std::string framed(const std::string& bytes);
Socket connected(const std::string& host, int port, Clock::time_point until);  // tries again until then; throws Failure
bool send_all(int fd, const std::string& bytes);
// Waits for a frame. 1: there is one; 0: none came in time; -1: the other side is gone.
int receive(int fd, std::string* frame, Clock::time_point until);

}  // namespace shim::distributed
