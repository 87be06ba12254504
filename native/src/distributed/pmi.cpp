#include "distributed/pmi.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "distributed/socket.h"

namespace shim::distributed {
namespace {

class PmiServer {
 public:
  PmiServer(int fd, Seat seat, std::shared_ptr<Store> store, std::string prefix, int64_t timeout)
      : fd_(fd), seat_(std::move(seat)), store_(std::move(store)), prefix_(std::move(prefix)), timeout_(timeout) {}

  void serve() {
    std::string text;
    char bytes[4096];
    for (ssize_t got; (got = recv(fd_, bytes, sizeof bytes, 0)) > 0;) {
      text.append(bytes, size_t(got));
      for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
        std::string reply;
        try {
          reply = answer(text.substr(0, end));
        } catch (const std::exception&) { reply = "cmd=error rc=-1 msg=store_out_of_reach"; }
        if (!send_all(fd_, reply + "\n")) return;
      }
    }
  }

 private:
  // "cmd=put kvsname=a key=b value=c d": a value may hold blanks, and stands last
  static std::string field(const std::string& line, const std::string& name) {
    const size_t at = (" " + line).find(" " + name + "=");
    if (at == std::string::npos) return {};
    const size_t begin = at + name.size() + 1;
    return line.substr(begin, name == "value" ? std::string::npos : line.find(' ', begin) - begin);
  }
  std::string key(const std::string& name) const { return str(prefix_, "pmi/", seat_.world, "/", name); }

  std::string get(const std::string& name) {
    const std::string fine = "cmd=get_result rc=0 msg=success value=",
                      none = "cmd=get_result rc=-1 msg=key_not_found value=unknown";
    if (name == "PMI_process_mapping") return fine + seat_.mapping;
    if (name.starts_with("PMI_")) return none;
    const Reply found = store_->call({.ask = Ask::get, .keys = {key(name)}});
    return found.outcome == Outcome::done ? fine + found.value : none;
  }

  std::string barrier() {
    const int64_t number = barriers_++;
    const std::string count = key(str("barrier ", number)), open = count + " open";
    if (store_->call({.ask = Ask::add, .keys = {count}, .number = 1}).number == seat_.size)
      store_->call({.ask = Ask::set, .keys = {open}, .value = "1"});
    const Reply opened = store_->call({.ask = Ask::wait, .keys = {open}, .timeout = timeout_});
    return opened.outcome == Outcome::done ? "cmd=barrier_out rc=0" : "cmd=barrier_out rc=-1 msg=timeout";
  }

  std::string answer(const std::string& line) {
    const std::string what = field(line, "cmd");
    if (what == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (what == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0";
    if (what == "get_appnum") return "cmd=appnum appnum=0 rc=0";
    if (what == "get_universe_size") return str("cmd=universe_size size=", seat_.size, " rc=0");
    if (what == "get_my_kvsname") return str("cmd=my_kvsname kvsname=", seat_.world, " rc=0");
    if (what == "get") return get(field(line, "key"));
    if (what == "barrier_in") return barrier();
    if (what == "finalize") return "cmd=finalize_ack rc=0";
    if (what != "put") return str("cmd=", what, "_result rc=-1 msg=unknown_command");
    store_->call({.ask = Ask::set, .keys = {key(field(line, "key"))}, .value = field(line, "value")});
    return "cmd=put_result rc=0 msg=success";
  }

  const int fd_;
  const Seat seat_;
  std::shared_ptr<Store> store_;
  const std::string prefix_;
  const int64_t timeout_;
  int64_t barriers_ = 0;
};

}  // namespace

PmiEnvironment::PmiEnvironment(const Seat& seat, std::shared_ptr<Store> store, std::string prefix, int64_t timeout) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    fail_between(FailureKind::backend, "MPI: no pair of sockets");
  setenv("PMI_FD", str(ends[0]).c_str(), 1);  // MPI's end stays open until the process ends
  setenv("PMI_RANK", str(seat.rank).c_str(), 1);
  setenv("PMI_SIZE", str(seat.size).c_str(), 1);
  std::thread([server = PmiServer(ends[1], seat, std::move(store), std::move(prefix), timeout)]() mutable {
    server.serve();
  }).detach();
}

PmiEnvironment::~PmiEnvironment() {  // children must not take the seat
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) unsetenv(name);
}

}  // namespace shim::distributed
