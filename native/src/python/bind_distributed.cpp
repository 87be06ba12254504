// Process groups for Python: stores, sessions, groups and their work.
#include <algorithm>

#include "distributed/nccl_group.h"
#include "distributed/session.h"
#include "python/distributed_objects.h"

namespace shim {
namespace {

using namespace between_processes;
using Integers = std::vector<int64_t>;
using Given = std::span<const char>;
template <class T> using Held = std::shared_ptr<T>;

void distributed_errors(PyObject* backend, PyObject* network, PyObject* store, PyObject* queue) {
  PyObject* const given[] = {backend, network, store, queue};
  std::ranges::transform(given, failures, Py_NewRef);
}

Held<Store> memory_store() { return std::make_shared<MemoryStore>(); }

// open_tcp_store(host, port, timeout, serve, listening): (store, port)
std::tuple<Held<Store>, int> open_tcp_store(
    std::string_view host, int port, Milliseconds timeout, Truth serve, int listening) {
  Held<Store> store;
  {
    const Unlocked others_run;
    Held<Server> server;
    if (serve) server = start_server(port, listening), port = port_of(*server);
    store = tcp_store(serve ? "localhost" : std::string(host), port, timeout, std::move(server));
  }
  return {std::move(store), port};
}

// (outcome, number, value, list)
std::tuple<int, int64_t, Bytes, std::vector<std::string>> store_call(Held<Store> store, int ask,
    std::vector<std::string> keys, Given value, Given expected, int64_t number, int64_t timeout) {
  CHECK(Kind::Value, value.size() <= kMostValue, "a store's value has at most 512 MiB");
  Reply r = store->call({.ask = Ask(ask),
      .keys = std::move(keys),
      .value = {value.data(), value.size()},
      .expected = {expected.data(), expected.size()},
      .number = number,
      .timeout = timeout});
  return {int(r.outcome), r.number, {std::move(r.value)}, std::move(r.list)};
}

Held<Session> open_session(
    Held<Store> store, std::string_view prefix, int rank, int size, Milliseconds timeout, Truth by_mpi) {
  return std::make_shared<Session>(store, std::string(prefix), rank, size, timeout, by_mpi);
}

Held<ProcessGroup> session_group(
    Held<Session> s, Integers ranks, int tag, std::string_view name, Milliseconds timeout) {
  return s->group({ranks.begin(), ranks.end()}, tag, std::string(name), timeout);
}

Held<NcclGroup> session_nccl_group(Held<Session> s, Integers ranks, std::string_view key, std::string_view name,
    Milliseconds timeout, Truth high_priority) {
  return s->nccl_group({ranks.begin(), ranks.end()}, std::string(key), std::string(name), timeout, high_priority);
}

// Its work; none where `waits`.
Held<Work> group_start(Held<ProcessGroup> group, std::string_view name, int act, int op, Tensor input, Tensor output,
    int root, int tag, Integers input_counts, Integers output_counts, std::vector<std::pair<Tensor, Tensor>> copies,
    Milliseconds timeout, Truth waits) {
  Held<Work> work = group->start({.kind = Act(act),
      .op = Reduce(op),
      .input = std::move(input),
      .output = std::move(output),
      .root = root,
      .tag = tag,
      .input_counts = std::move(input_counts),
      .output_counts = std::move(output_counts),
      .copies = std::move(copies),
      .timeout = timeout,
      .name = std::string(name)});
  if (waits) return work->wait(Milliseconds(0)), nullptr;
  if (!work->advance()) watch_progress(work);
  return work;
}

const ObjectType<Store> store_type{"DistributedStore", {method<&store_call>("call")}};
const ObjectType<Session> session_type{
    "DistributedSession", {method<&session_group>("group"), method<&session_nccl_group, Lock::held>("nccl_group"),
                              method<[](Held<Session> s) { s->leave(); }>("leave")}};
const ObjectType<ProcessGroup> group_type{"DistributedGroup",
    {method<&group_start>("start"),
        method<[](Held<ProcessGroup> g, std::string_view why) { g->abort(std::string(why)); }>("abort")},
    {object_attribute<[](Held<ProcessGroup> g) { return g->sequence(); }>("sequence")}};
const ObjectType<Work> work_type{"DistributedWork",
    {method<[](Held<Work> w, Milliseconds at_most) { return w->wait(at_most), true; }>("wait"),
        method<[](Held<Work> w) { return w->look(), w->ended(); }>("test")},
    {object_attribute<&error_of<Work>>("error"), object_attribute<[](Held<Work> w) { return w->source(); }>("source")}};
const ModulePart distributed_functions{
    {function<&distributed_errors>("distributed_errors"), between<&memory_store>("memory_store"),
        between<[](std::string_view path) { return file_store(std::string(path)); }>("file_store"),
        between<&open_tcp_store, Lock::held>("tcp_store"),
        between<[](std::string_view path) { mpi::look_at(std::string(path)); }, Lock::held>("mpi_look_at"),
        function<[] { return why_not(mpi::library()); }>("mpi_why_not"), between<&end_mpi>("end_mpi"),
        between<&open_session>("open_session")}};

}  // namespace

}  // namespace shim
