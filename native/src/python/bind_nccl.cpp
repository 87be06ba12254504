// Groups over NCCL for Python.
#include "distributed/nccl_group.h"
#include "python/distributed_objects.h"

namespace shim::between_processes {
namespace {

using Integers = std::vector<int64_t>;
using Group = std::shared_ptr<NcclGroup>;
using Running = std::shared_ptr<NcclWork>;

std::tuple<int, std::string> nccl_version() {  // its number, and where it was found
  const nccl::Library& l = nccl::required();
  return {l.version_number, l.path};
}

void nccl_failure_handling(int how) {
  CHECK(Kind::Value, how >= 0 && how <= 3, "TORCH_NCCL_ASYNC_ERROR_HANDLING is 0, 1, 2 or 3, got ", how);
  set_failure_handling(how);
}

Running nccl_start(Group group, std::string_view name, int act, int op, PyObject* factor, std::vector<Tensor> inputs,
    std::vector<Tensor> outputs, int root, Integers input_counts, Integers output_counts, Milliseconds timeout,
    Truth later) {
  DeviceCollective c{.kind = Act(act), .op = Reduce(op)};
  if (is_tensor(factor))
    c.factor_at = lent(factor);
  else if (factor != Py_None)
    c.factor = PyFloat_AsDouble(factor);
  if (PyErr_Occurred()) throw PythonError();
  c.inputs = std::move(inputs);
  c.outputs = std::move(outputs);
  c.root = root;
  c.input_counts = std::move(input_counts);
  c.output_counts = std::move(output_counts);
  c.timeout = timeout;
  c.name = name;
  c.later = later;
  return root < 0 ? group->reduce_by_copies(std::move(c)) : group->start(std::move(c));  // -1: null where it is NCCL's
}

// (ncclComm_t, the stream of asynchronous collectives, how many small ones were not NCCL's; -1: all are)
std::tuple<void*, void*, int64_t> group_communicator(Group group, int device) {
  const cuda::CUstream current = cuda::current_stream(device);
  const Unlocked others_run;
  const DeviceComm& found = group->communicator(device, current);
  return {found.comm, found.stream, found.small ? int64_t(found.small->count()) : -1};
}

Group group_split(
    Group group, int device, int color, int key, Integers members, std::string_view name, Milliseconds timeout) {
  return group->split(device, color, key, {members.begin(), members.end()}, std::string(name), timeout);
}

bool nccl_wait(Running work, Milliseconds at_most) {
  {
    const Unlocked others_run;
    work->wait_on_host(at_most);
  }
  return work->order_current_stream(), true;
}

constexpr Lock held = Lock::held;
const ObjectType<NcclGroup> nccl_group_type{"DeviceGroup",
    {method<&nccl_start, held>("start"), method<[](Group g) { g->begin_coalescing(); }, held>("begin_coalescing"),
        method<[](Group g, Truth later, Milliseconds timeout) { return g->end_coalescing(later, timeout); }, held>(
            "end_coalescing"),
        method<[](Group g, std::vector<Tensor> inputs, Integers to, std::vector<Tensor> outputs, Integers from,
                   Milliseconds timeout) { return g->exchange(inputs, to, outputs, from, timeout); },
            held>("exchange"),
        method<&group_communicator, held>("communicator"), method<&group_split, held>("split"),
        method<[](Group g, std::string_view why) { g->abort(std::string(why)); }>("abort"),
        method<[](Group g) { g->shutdown(); }>("shutdown")},
    {object_attribute<[](Group g) { return g->sequence(); }>("sequence")}};
const ObjectType<NcclWork> nccl_work_type{"DeviceWork",
    {method<[](Running w) { return w->order_current_stream(), true; }, held>("order_current_stream"),
        method<&nccl_wait, held>("wait"), method<[](Running w) { return w->ended(); }, held>("test")},
    {object_attribute<&error_of<NcclWork>>("error"), object_attribute<[](Running w) { return w->event(); }>("event")}};
const ModulePart nccl_functions{{function<[] { return why_not(nccl::library()); }>("nccl_why_not"),
    between<&nccl_version, held>("nccl_version"), function<&nccl_failure_handling>("nccl_failure_handling")}};

}  // namespace

}  // namespace shim::between_processes
