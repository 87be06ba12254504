#include "distributed/descriptors.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "distributed/socket.h"

namespace shim::distributed {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  fail_between(FailureKind::backend, "memory between the GPUs of a host: ", why);
}

std::string asked(Store& store, const std::string& key, Milliseconds timeout) {
  Reply said = store.call({.ask = Ask::get, .keys = {key}, .timeout = timeout.count()});
  if (said.outcome != Outcome::done) give_up(str("nothing came under ", key));
  return std::move(said.value);
}

// A name of a running system: two containers of one host have it in common, two hosts have not.
std::string this_host() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

sockaddr_un address(const std::string& name, socklen_t* size) {  // of the abstract namespace: no file
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path + 1, name.data(), name.size());
  *size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return a;
}

Socket fresh() {
  Socket s(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (s.fd() < 0) give_up("socket() failed");
  return s;
}

bool own_user(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

void send_descriptor(int to, int rank, int descriptor) {
  iovec bytes{&rank, sizeof rank};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &bytes, m.msg_iovlen = 1, m.msg_control = space, m.msg_controllen = sizeof space;
  cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(c), &descriptor, sizeof descriptor);
  if (sendmsg(to, &m, MSG_NOSIGNAL) != ssize_t(sizeof rank)) give_up("a descriptor could not be sent");
}

void wait_for(int fd, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<Milliseconds>(until - Clock::now()).count();
  pollfd p{fd, POLLIN, 0};
  if (left <= 0 || poll(&p, 1, int(left)) != 1) give_up("a rank did not come");
}

int receive_descriptor(int from, int* rank, Clock::time_point until) {
  wait_for(from, until);
  iovec bytes{rank, sizeof *rank};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &bytes, m.msg_iovlen = 1, m.msg_control = space, m.msg_controllen = sizeof space;
  if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != ssize_t(sizeof *rank)) give_up("a rank went away");
  const cmsghdr* c = CMSG_FIRSTHDR(&m);
  int descriptor = -1;
  if (!c || c->cmsg_type != SCM_RIGHTS) give_up("a rank sent no descriptor");
  std::memcpy(&descriptor, CMSG_DATA(c), sizeof descriptor);
  return descriptor;
}

}  // namespace

bool on_one_host(Store& store, const std::string& prefix, int rank, Milliseconds timeout) {
  if (rank > 0) return asked(store, prefix, timeout) == this_host();
  store.call({.ask = Ask::set, .keys = {prefix}, .value = this_host()});
  return true;
}

bool all_agree(Store& store, const std::string& prefix, int size, bool yes, Milliseconds timeout) {
  store.call({.ask = Ask::add, .keys = {prefix + "/yes"}, .number = yes});
  if (store.call({.ask = Ask::add, .keys = {prefix + "/votes"}, .number = 1}).number == size) {
    const int64_t count = store.call({.ask = Ask::add, .keys = {prefix + "/yes"}, .number = 0}).number;
    store.call({.ask = Ask::set, .keys = {prefix + "/all"}, .value = count == size ? "1" : "0"});
  }
  return asked(store, prefix + "/all", timeout) == "1";
}

std::vector<int> exchange_descriptors(
    Store& store, const std::string& prefix, int rank, int size, int own, Milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  uint64_t number[2];
  if (getrandom(number, sizeof number, 0) != sizeof number) give_up("getrandom() failed");
  const std::string name = str("shim-torch-", number[0], "-", number[1]);
  Socket listening = fresh();
  socklen_t length = 0;
  sockaddr_un here = address(name, &length);
  if (bind(listening.fd(), reinterpret_cast<sockaddr*>(&here), length) || listen(listening.fd(), size))
    give_up("bind() failed");
  store.call({.ask = Ask::set, .keys = {str(prefix, "/", rank)}, .value = name});
  std::vector<std::string> names(static_cast<size_t>(size));
  for (int other = 0; other < size; ++other) { names[size_t(other)] = asked(store, str(prefix, "/", other), timeout); }
  std::vector<int> found(size_t(size), -1);
  std::vector<Socket> lower;  // whom this rank calls; the higher ones call it
  for (int other = 0; other < rank; ++other) {
    lower.push_back(fresh());
    sockaddr_un there = address(names[size_t(other)], &length);
    if (connect(lower.back().fd(), reinterpret_cast<sockaddr*>(&there), length)) give_up("connect() failed");
    send_descriptor(lower.back().fd(), rank, own);
  }
  for (int higher = rank + 1; higher < size;) {
    wait_for(listening.fd(), until);
    const Socket called(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (called.fd() < 0 || !own_user(called.fd())) continue;
    int from = -1;
    const int descriptor = receive_descriptor(called.fd(), &from, until);
    if (from <= rank || from >= size || found[size_t(from)] >= 0) give_up("a rank that is none called");
    found[size_t(from)] = descriptor;
    send_descriptor(called.fd(), rank, own);
    ++higher;
  }
  for (int other = 0; other < rank; ++other) {
    int from = -1;
    found[size_t(other)] = receive_descriptor(lower[size_t(other)].fd(), &from, until);
  }
  return found;
}

}  // namespace shim::distributed
