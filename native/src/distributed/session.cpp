#include "distributed/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <random>
#include <thread>

#include "distributed/group.h"
#include "distributed/mpi_library.h"
#include "distributed/nccl_group.h"
#include "distributed/pmi.h"

namespace shim::distributed {
namespace {

struct World {  // of this process: MPI is initialised once
  bool entered = false, failed = false;
  std::string name;
  int rank = 0;
  pid_t process = 0;
};
World world;
std::atomic<bool> ends{false};

std::string host_of_process() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

bool launched() {  // by an mpiexec, whose world is taken
  return std::getenv("PMI_FD") || std::getenv("PMI_PORT") || std::getenv("PMIX_RANK");
}

void initialise() {
  const mpi::Library& l = mpi::required();
  int there = 0, level = 0;
  mpi::check(l.Initialized(&there), "MPI_Initialized");
  if (there)
    mpi::check(l.Query_thread(&level), "MPI_Query_thread");
  else
    mpi::check(l.Init_thread(nullptr, nullptr, mpi::kThreadMultiple, &level), "MPI_Init_thread");
  if (level < mpi::kThreadMultiple) fail_between(FailureKind::backend, "MPI: the library gives no MPI_THREAD_MULTIPLE");
  l.Comm_set_errhandler(mpi::kWorld, mpi::handle<struct mpi::HandlerHandle*>(mpi::kErrorsReturn));
  mpi::check(l.Comm_rank(mpi::kWorld, &world.rank), "MPI_Comm_rank");
}

std::string mapping(const std::vector<std::string>& hosts) {
  std::vector<std::string> known;
  std::string text = "(vector";
  for (size_t i = 0; i < hosts.size();) {
    size_t end = i, node = 0;
    while (end < hosts.size() && hosts[end] == hosts[i]) ++end;
    while (node < known.size() && known[node] != hosts[i]) ++node;
    if (node == known.size()) known.push_back(hosts[i]);
    text += str(",(", node, ",1,", end - i, ")");
    i = end;
  }
  return text + ")";
}

std::string new_name() {
  std::random_device source;
  return str("shim", source() % 1000000000u, source() % 1000000000u);
}

// The world's shared memory: whoever needed its name has opened it, and a job that is killed now leaves nothing behind.
void unlink_shared_memory() {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  char line[4096];
  while (maps && std::fgets(line, sizeof line, maps)) {
    const char* path = std::strstr(line, "/dev/shm/mpich_shm_");
    if (path) unlink(std::string(path, std::strcspn(path, " \n")).c_str());
  }
  if (maps) std::fclose(maps);
}

}  // namespace

bool ending() noexcept { return ends; }

void bounded(
    const char* what, Milliseconds timeout, const std::function<std::string()>& hopeless, std::function<void()> work) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> future = done->get_future();
  std::thread([done, work = std::move(work)] {
    try {
      work();
      done->set_value();
    } catch (...) { done->set_exception(std::current_exception()); }
  }).detach();
  const auto until = Clock::now() + timeout;
  while (future.wait_for(Milliseconds(20)) != std::future_status::ready) {
    const std::string reason = hopeless();
    if (reason.empty() && Clock::now() < until && !ends) continue;
    world.failed = true;
    fail_between(FailureKind::backend, what,
        " failed: ", !reason.empty() ? reason : str("the other ranks did not come within ", timeout.count(), " ms"));
  }
  future.get();
}

void check_same_process() {
  CHECK(Kind::Runtime, !world.entered || world.process == getpid(),
      "torch.distributed: this process was forked from one that uses MPI, and must not use its groups");
}

void end_mpi() {
  ends = true;
  end_progress();
  end_watchdog();
  // A launcher takes a rank that ends without it for one that died.
  if (world.entered && world.name == "mpiexec" && !world.failed && world.process == getpid()) {
    try {
      bounded("MPI_Finalize", Milliseconds(5000), [] { return std::string(); }, [] { mpi::required().Finalize(); });
    } catch (const std::exception&) {}
  }
}

Session::Session(
    std::shared_ptr<Store> store, std::string prefix, int rank, int size, Milliseconds timeout, bool by_mpi)
    : store_(std::move(store)), prefix_(std::move(prefix)), rank_(rank), size_(size) {
  if (by_mpi) mpi::required();
  check_same_process();
  membership_ = store_->join(prefix_, rank, size, peers_);
  if (by_mpi)
    mpi_ranks_ = meet(timeout.count());
  else
    arrive(timeout.count());
}

// Without MPI: all have come once the last one says so.
void Session::arrive(int64_t timeout) {
  const Reply here = store_->call({.ask = Ask::add, .keys = {prefix_ + "arrived"}, .number = 1});
  if (here.number == size_) store_->call({.ask = Ask::set, .keys = {prefix_ + "all"}, .value = "1"});
  const Reply all = store_->call({.ask = Ask::get, .keys = {prefix_ + "all"}, .timeout = timeout});
  if (all.outcome != Outcome::done)
    fail_between(FailureKind::backend, "init_process_group: [Rank ", rank_,
        "] the group could not be formed: not all of its ", size_, " processes came within ", timeout, " ms");
}

// What rank 0 says to all: "new NAME MAPPING", "old RANK,RANK,…" for ranks of one world, or "no REASON".
std::string Session::announcement(int64_t timeout) {
  const auto until = Clock::now() + Milliseconds(timeout);
  std::vector<std::string> hosts, ranks;
  std::string shared;
  for (int rank = 0; rank < size_; ++rank) {
    const auto left = std::chrono::duration_cast<Milliseconds>(until - Clock::now()).count();
    const Reply found =
        store_->call({.ask = Ask::get, .keys = {str(prefix_, "rank ", rank)}, .timeout = std::max<int64_t>(left, 0)});
    if (found.outcome != Outcome::done) return str("no rank ", rank, " did not come within ", timeout, " ms");
    const size_t first = found.value.find('\n'), second = found.value.find('\n', first + 1);
    const std::string name = found.value.substr(first + 1, second - first - 1);
    hosts.push_back(found.value.substr(0, first));
    ranks.push_back(found.value.substr(second + 1));
    if (rank > 0 && name != shared)
      return "no its processes are of several MPI worlds: a process that left a group can meet only those of its first "
             "group "
             "again; other groups need new processes (not supported by shim-torch)";
    shared = name;
  }
  if (shared.empty()) return str("new ", new_name(), " ", mapping(hosts));
  std::string all = "old ";
  for (const std::string& rank : ranks) all += rank + ",";
  return all;
}

std::vector<int> Session::meet(int64_t timeout) {
  const auto hopeless = [this] {
    return peers_->changes() ? peers_->hopeless([this] {
      std::vector<int> all;
      for (int rank = 0; rank < size_; ++rank) all.push_back(rank);
      return all;
    }())
                             : std::string();
  };
  if (!world.entered && launched()) {
    bounded("MPI_Init", Milliseconds(timeout), hopeless, initialise);
    world.entered = true, world.name = "mpiexec", world.process = getpid();
  }
  store_->call({.ask = Ask::set,
      .keys = {str(prefix_, "rank ", rank_)},
      .value = str(host_of_process(), "\n", world.name, "\n", world.rank)});
  if (rank_ == 0) store_->call({.ask = Ask::set, .keys = {prefix_ + "world"}, .value = announcement(timeout)});
  const Reply said = store_->call({.ask = Ask::get, .keys = {prefix_ + "world"}, .timeout = timeout + 1000});
  if (said.outcome != Outcome::done || said.value.starts_with("no "))
    fail_between(FailureKind::backend, "init_process_group: [Rank ", rank_, "] the group could not be formed: ",
        said.outcome != Outcome::done ? "rank 0 did not come" : said.value.substr(3));
  std::vector<int> ranks;
  if (said.value.starts_with("old ")) {
    for (size_t at = 4, end; (end = said.value.find(',', at)) != std::string::npos; at = end + 1)
      ranks.push_back(std::atoi(said.value.c_str() + at));
    return ranks;
  }
  const size_t blank = said.value.find(' ', 4);
  const Seat seat{rank_, size_, said.value.substr(4, blank - 4), said.value.substr(blank + 1)};
  {
    const PmiEnvironment variables(seat, store_, prefix_, timeout);
    bounded("MPI_Init", Milliseconds(timeout), hopeless, initialise);
  }
  world.entered = true, world.name = seat.world, world.process = getpid();
  for (int rank = 0; rank < size_; ++rank) ranks.push_back(rank);
  return ranks;
}

std::shared_ptr<ProcessGroup> Session::group(
    const std::vector<int>& ranks, int tag, const std::string& name, Milliseconds timeout) {
  check_same_process();
  CHECK(Kind::Runtime, !mpi_ranks_.empty(),
      "torch.distributed.new_group: the default group is for CUDA tensors only (\"nccl\"); a group for CPU tensors "
      "needs "
      "init_process_group(\"cpu:gloo,cuda:nccl\")");
  std::vector<int> mine;
  int at = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    mine.push_back(mpi_ranks_.at(size_t(ranks[i])));
    if (ranks[i] == rank_) at = int(i);
  }
  CHECK(Kind::Value, at >= 0, "the process is no member of the group");
  auto comm = std::make_shared<mpi::Comm>(nullptr);
  bounded(
      "new_group", timeout, [&] { return peers_->changes() ? peers_->hopeless(ranks) : std::string(); },
      [comm, mine, tag] {
        const mpi::Library& l = mpi::required();
        mpi::Group every = nullptr, members = nullptr;
        mpi::check(l.Comm_group(mpi::kWorld, &every), "MPI_Comm_group");
        mpi::check(l.Group_incl(every, int(mine.size()), mine.data(), &members), "MPI_Group_incl");
        mpi::check(l.Comm_create_group(mpi::kWorld, members, tag, comm.get()), "MPI_Comm_create_group");
        l.Group_free(&members), l.Group_free(&every);
        l.Comm_set_errhandler(*comm, mpi::handle<struct mpi::HandlerHandle*>(mpi::kErrorsReturn));
      });
  if (int(ranks.size()) == size_) unlink_shared_memory();
  return std::make_shared<ProcessGroup>(*comm, at, ranks, name, peers_);
}

std::shared_ptr<NcclGroup> Session::nccl_group(const std::vector<int>& ranks, const std::string& key,
    const std::string& name, Milliseconds timeout, bool high_priority) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank_);
  CHECK(Kind::Value, found != ranks.end(), "the process is no member of the group");
  return std::make_shared<NcclGroup>(
      store_, prefix_ + key + "/", int(found - ranks.begin()), ranks, name, peers_, timeout, high_priority);
}

}  // namespace shim::distributed
