#include "cuda/driver_objects.h"

#include "core/interpreter_lock.h"
#include "cuda/backward_streams.h"
#include "cuda/device_failure.h"

namespace shim::cuda {

int device_in_use() {
  require("torch.cuda.current_device");
  return current_device();
}

void use_device(int device) {
  require("torch.cuda.set_device");
  set_device(device);
}

int driver_version() {
  int v = 0;
  if (driver().driver_version) driver().driver_version(&v);
  return v;
}

int device_attribute(int device, int attribute) {
  int value = 0;
  check(
      require("torch.cuda.get_device_properties").device_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

DeviceFacts device_facts(int index) {
  const Driver& d = require("torch.cuda.get_device_properties");
  CUdevice device = 0;
  char name[256] = {};
  size_t total = 0;
  DeviceFacts facts;
  check(d.device_get(&device, index), "cuDeviceGet");
  check(d.device_name(name, sizeof name, device), "cuDeviceGetName");
  check(d.device_total_memory(&total, device), "cuDeviceTotalMem");
  if (d.device_uuid) d.device_uuid(&facts.uuid, device);
  facts.name = name;
  facts.memory = int64_t(total);
  return facts;
}

bool can_access_peer(int device, int peer) {
  int yes = 0;
  check(require("torch.cuda.can_device_access_peer").can_access_peer(&yes, device, peer), "cuDeviceCanAccessPeer");
  return yes != 0;
}

// --- streams ------------------------------------------------------------------------------------------------------------

CUstream make_stream(int device, int priority) {
  const Driver& d = require("torch.cuda.Stream");
  OnDevice current(device);
  CUstream stream = nullptr;
  check(d.stream_create(&stream, 1, priority), "cuStreamCreateWithPriority");
  remember_stream(stream);  // torch.cuda.Stream keeps it in a pool
  return stream;
}

std::tuple<int, int> stream_priorities() {
  int least = 0, greatest = 0;
  ensure_context();
  check(
      require("torch.cuda.Stream.priority_range").stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  return {least, greatest};
}

void wait_for_stream(int device, CUstream stream) {
  const Driver& d = require("torch.cuda.Stream.synchronize");
  OnDevice current(device);
  CUresult r;
  {
    const Unlocked others_run;
    r = d.stream_synchronize(stream);
  }
  check(r, "cuStreamSynchronize");
}

bool query_stream(int device, CUstream stream) {
  const Driver& d = require("torch.cuda.Stream.query");
  OnDevice current(device);
  CUresult r = d.stream_query(stream);
  if (r != kNotReady) check(r, "cuStreamQuery");
  return r != kNotReady;
}

void wait_event(int device, CUstream stream, CUevent event) {
  const Driver& d = require("torch.cuda.Stream.wait_event");
  OnDevice current(device);
  check(d.stream_wait_event(stream, event, 0), "cuStreamWaitEvent");
}

void synchronize(int device) {
  const Driver& d = require("torch.cuda.synchronize");
  OnDevice current(device);
  CUresult r;
  {
    const Unlocked others_run;
    r = d.ctx_synchronize();
  }
  check(r, "cuCtxSynchronize");
}

// --- events -------------------------------------------------------------------------------------------------------------

CUevent make_event(int device, int flags) {
  const Driver& d = require("torch.cuda.Event");
  OnDevice current(device);
  CUevent event = nullptr;
  check(d.event_create(&event, unsigned(flags)), "cuEventCreate");
  return event;
}

void record_event(int device, CUevent event, CUstream stream) {
  const Driver& d = require("torch.cuda.Event.record");
  OnDevice current(device);
  check(d.event_record(event, stream), "cuEventRecord");
}

bool query_event(CUevent event) {
  CUresult r = require("torch.cuda.Event.query").event_query(event);
  if (r != kNotReady) check(r, "cuEventQuery");
  return r != kNotReady;
}

void synchronize_event(CUevent event) {
  const Driver& d = require("torch.cuda.Event.synchronize");
  CUresult r;
  {
    const Unlocked others_run;
    r = d.event_synchronize(event);
  }
  check(r, "cuEventSynchronize");
}

double elapsed_time(CUevent begin, CUevent end) {
  float ms = 0;
  check(require("torch.cuda.Event.elapsed_time").event_elapsed(&ms, begin, end), "cuEventElapsedTime");
  return ms;
}

void destroy_event(CUevent event) {
  if (driver().loaded) driver().event_destroy(event);
}

// --- graphs -------------------------------------------------------------------------------------------------------------

BlockPool* begin_graph(int device, CUstream stream, int mode, BlockPool* shared) {
  const Driver& d = require("torch.cuda.graph");
  OnDevice current(device);
  BlockPool* pool = begin_graph_pool(device, shared);
  CUresult r = d.capture_begin(stream, mode);
  if (r != 0) {
    end_graph_pool(pool);
    release_graph_pool(pool);
  }
  check(r, "cuStreamBeginCapture");
  return pool;
}

CUgraphExec end_graph(int device, CUstream stream, BlockPool* pool) {
  const Driver& d = require("torch.cuda.graph");
  OnDevice current(device);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  end_graph_pool(pool);
  check(d.capture_end(stream, &graph), "cuStreamEndCapture");
  CUresult r = d.graph_instantiate(&exec, graph, 0);
  d.graph_destroy(graph);
  check(r, "cuGraphInstantiate");
  return exec;
}

void launch_graph(int device, CUgraphExec exec) {
  const Driver& d = require("torch.cuda.CUDAGraph.replay");
  OnDevice current(device);
  check(d.graph_launch(exec, current_stream(device)), "cuGraphLaunch");
  ++Storage::unseen_writes;
}

void destroy_graph(CUgraphExec exec, BlockPool* pool) {
  if (driver().loaded && exec) driver().graph_exec_destroy(exec);
  if (pool) release_graph_pool(pool);
}

std::tuple<int64_t, int64_t> mem_info(int device) {
  const Driver& d = require("torch.cuda.mem_get_info");
  const OnDevice current{device};
  size_t free_bytes = 0, total = 0;
  check(d.mem_info(&free_bytes, &total), "cuMemGetInfo");
  return {int64_t(free_bytes), int64_t(total)};
}

void check_current_device() {
  if (driver().loaded) check_device(current_device());
}

}  // namespace shim::cuda
