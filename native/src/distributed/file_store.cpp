// FileStore: a file of requests, which every process reads from its start. A lock on the file orders who appends.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "distributed/socket.h"
#include "distributed/store.h"

namespace shim::distributed {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

// A process's number and when it began, which no other process of the host has; empty: there is none.
std::string started(pid_t process) {
  const int fd = open(str("/proc/", int(process), "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[4096];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return {};
  const std::string all(text, size_t(n));
  size_t at = all.rfind(')');
  if (at == std::string::npos || at + 2 >= all.size() || all[at + 2] == 'Z') return {};
  for (int field = 0; field < 20 && at != std::string::npos; ++field) at = all.find(' ', at + 1);
  return str(int(process), " ", all.substr(at + 1, all.find(' ', at + 1) - at - 1));
}

class FileStore final : public Store, public std::enable_shared_from_this<FileStore> {
 public:
  explicit FileStore(const std::string& path)
      : path_(path), file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_.fd() < 0) fail_between(FailureKind::store, "FileStore: cannot open ", path, ": ", std::strerror(errno));
  }

  Reply call(const Request& r) override {
    const auto until = Clock::now() + Milliseconds(r.timeout);
    for (Milliseconds pause(1);; pause = std::min(pause * 2, Milliseconds(20))) {
      if (std::optional<Reply> reply = once(r)) return *reply;
      if (Clock::now() >= until) return {.outcome = Outcome::late};
      std::this_thread::sleep_for(pause);
    }
  }

  std::shared_ptr<void> join(const std::string& world, int rank, int size, std::shared_ptr<Peers> peers) override;

 private:
  std::optional<Reply> once(const Request& r) {
    const std::lock_guard held(lock_);
    const bool writes = Table::changes(r.ask);
    if (flock(file_.fd(), writes ? LOCK_EX : LOCK_SH) != 0)
      fail_between(FailureKind::store, "FileStore: cannot lock ", path_, ": ", std::strerror(errno));
    read_on();
    const std::optional<Reply> reply = table_.answer(r);
    if (reply && writes) {
      const std::string bytes = framed(packed(r));
      if (pwrite(file_.fd(), bytes.data(), bytes.size(), at_) != ssize_t(bytes.size())) {
        flock(file_.fd(), LOCK_UN);
        fail_between(FailureKind::store, "FileStore: cannot write to ", path_, ": ", std::strerror(errno));
      }
      at_ += off_t(bytes.size());
    }
    flock(file_.fd(), LOCK_UN);
    return reply;
  }

  void read_on() {  // what others wrote
    struct stat status;
    if (fstat(file_.fd(), &status) != 0 || status.st_size <= at_) return;
    std::string bytes(size_t(status.st_size - at_), '\0');
    const ssize_t got = pread(file_.fd(), bytes.data(), bytes.size(), at_);
    for (size_t i = 0; got > 0 && i + 4 <= size_t(got);) {
      uint32_t size = 0;
      std::memcpy(&size, bytes.data() + i, sizeof size);
      Request r;
      if (size > size_t(got) - i - 4 || !unpack(std::string_view(bytes).substr(i + 4, size), &r)) {
        flock(file_.fd(), LOCK_UN);
        fail_between(FailureKind::store, "FileStore: ", path_, " holds something else");
      }
      table_.answer(r);
      i += 4 + size, at_ += off_t(4 + size);
    }
  }

  const std::string path_;
  Socket file_;
  off_t at_ = 0;
  std::mutex lock_;
  Table table_;
};

// There is no server whose connections tell who ended: each process says which it is, and looks at those of its host.
class Watch {
 public:
  Watch(std::shared_ptr<Store> store, const std::string& world, int rank, int size, std::shared_ptr<Peers> peers)
      : store_(std::move(store)),
        prefix_(str("shim/", world, "/")),
        rank_(rank),
        size_(size),
        peers_(std::move(peers)) {
    say(str(host_name(), " ", started(getpid())));
    thread_ = std::thread([this] { look(); });
  }
  ~Watch() {
    if (getpid() != owner_) {  // a fork
      thread_.detach();
      return;
    }
    {
      const std::lock_guard held(lock_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    try {
      say("left");
    } catch (const std::exception&) {  // the file was removed
    }
  }

 private:
  std::string key(int rank) const { return prefix_ + str(rank); }
  void say(const std::string& what) { store_->call({.ask = Ask::set, .keys = {key(rank_)}, .value = what}); }

  void look() {
    std::unique_lock held(lock_);
    while (!wake_.wait_for(held, Milliseconds(250), [this] { return ending_; })) {
      try {
        look_once();
      } catch (const std::exception&) { return; }
    }
  }

  void look_once() {
    const std::string here = host_name() + " ";
    for (int rank = 0; rank < size_; ++rank) {
      const Reply said = store_->call({.ask = Ask::get, .keys = {key(rank)}});
      if (rank == rank_ || said.outcome != Outcome::done) continue;
      if (said.value == "left") peers_->gone(rank, true);
      if (said.value.compare(0, here.size(), here) != 0) continue;
      if (started(pid_t(std::atoi(said.value.c_str() + here.size()))) != said.value.substr(here.size()))
        peers_->gone(rank, false);
    }
  }

  const pid_t owner_ = getpid();
  std::shared_ptr<Store> store_;
  const std::string prefix_;
  const int rank_, size_;
  std::shared_ptr<Peers> peers_;
  std::mutex lock_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

std::shared_ptr<void> FileStore::join(const std::string& world, int rank, int size, std::shared_ptr<Peers> peers) {
  return std::make_shared<Watch>(shared_from_this(), world, rank, size, std::move(peers));
}

}  // namespace

std::shared_ptr<Store> file_store(const std::string& path) { return std::make_shared<FileStore>(path); }

}  // namespace shim::distributed
