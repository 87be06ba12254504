#include "program/stream_capture.h"

#include <map>

#include "core/error.h"

namespace shim::program {
namespace {

using namespace cuda;

constexpr unsigned kNonBlocking = 1;
constexpr int kRelaxed = 2;  // memory is allocated meanwhile

CUstream capture_stream(int device) {  // one a device, for ever; made under the interpreter's lock
  static auto* streams = new std::map<int, CUstream>;
  CUstream& s = (*streams)[device];
  if (!s) check(driver().stream_create(&s, kNonBlocking, 0), "cuStreamCreateWithPriority");
  return s;
}

struct OnStream {
  int device;
  CUstream before;
  OnStream(int d, CUstream s) : device(d), before(current_stream(d)) { set_current_stream(d, s); }
  ~OnStream() { set_current_stream(device, before); }
};

struct Pools {  // of a capture
  BlockPool *results, *common;
  Pools(BlockPool* r, BlockPool* c) : results(r), common(c) { set_results_pool(r); }
  Pools(const Pools&) = delete;
  ~Pools() {
    set_results_pool(nullptr);
    end_graph_pool(common);
    end_graph_pool(results);
  }
};

}  // namespace

CapturedGraph::~CapturedGraph() {
  if (driver().loaded && exec_) driver().graph_exec_destroy(exec_);
  if (!memory_) return;
  release_graph_pool(results_);
  release_graph_pool(memory_->pool_);
  if (!--memory_->graphs_) memory_->pool_ = nullptr;
}

Ref<CapturedGraph> CapturedGraph::of(int device, Ref<GraphMemory> memory, const std::function<void()>& work) {
  const Driver& d = driver();
  CHECK(Kind::Runtime, d.stream_create && d.capture_begin && d.capture_end && d.graph_instantiate && d.graph_launch,
      "the CUDA driver has no graphs");
  const OnDevice here(device);
  const CUstream stream = capture_stream(device);
  check(driver().stream_synchronize(current_stream(device)), "cuStreamSynchronize");
  const OnStream current(device, stream);
  CHECK(Kind::Runtime, current_stream(device) == stream, "CuPy has chosen another stream for this thread");
  auto made = make<CapturedGraph>();
  made->device_ = device;
  made->results_ = begin_graph_pool(device, nullptr);
  memory->pool_ = begin_graph_pool(device, memory->pool_);
  ++memory->graphs_;
  made->memory_ = std::move(memory);
  CUgraph graph = nullptr;
  {
    const Pools ended{made->results_, made->memory_->pool_};
    check(driver().capture_begin(stream, kRelaxed), "cuStreamBeginCapture");
    try {
      work();
    } catch (...) {  // the stream can be used again
      driver().capture_end(stream, &graph);
      if (graph) driver().graph_destroy(graph);
      throw;
    }
  }
  check(driver().capture_end(stream, &graph), "cuStreamEndCapture");
  const CUresult r = driver().graph_instantiate(&made->exec_, graph, 0);
  driver().graph_destroy(graph);
  check(r, "cuGraphInstantiate");
  return made;
}

void CapturedGraph::launch() const {
  const OnDevice here(device_);
  const CUstream now = current_stream(device_);
  if (memory_->graphs_ > 1) order_streams(memory_->last_, device_, now, device_);
  memory_->last_ = now;
  check(driver().graph_launch(exec_, now), "cuGraphLaunch");
}

}  // namespace shim::program
