#pragma once
// The driver's devices, streams, events and graphs as torch.cuda asks for them. What waits lets go of the interpreter's lock.
#include <string>
#include <tuple>

#include "cuda/driver.h"

namespace shim::cuda {

struct DeviceFacts {
  std::string name;
  int64_t memory = 0;  // bytes
  Uuid uuid{};
};

int device_in_use();
void use_device(int device);
int driver_version();  // 0: there is no driver
int device_attribute(int device, int attribute);
DeviceFacts device_facts(int device);
bool can_access_peer(int device, int peer);
std::tuple<int64_t, int64_t> mem_info(int device);  // free, in all
void check_current_device();                        // throws where its context is broken

CUstream make_stream(int device, int priority);  // non-blocking
std::tuple<int, int> stream_priorities();        // the least, the greatest
void wait_for_stream(int device, CUstream);
bool query_stream(int device, CUstream);
void wait_event(int device, CUstream, CUevent);
void synchronize(int device);

CUevent make_event(int device, int flags);
void record_event(int device, CUevent, CUstream);  // both of the device
bool query_event(CUevent);
void synchronize_event(CUevent);
double elapsed_time(CUevent begin, CUevent end);  // milliseconds
void destroy_event(CUevent);

BlockPool* begin_graph(int device, CUstream, int mode, BlockPool* shared);  // null: a pool of its own
CUgraphExec end_graph(int device, CUstream, BlockPool*);
void launch_graph(int device, CUgraphExec);   // on the current stream
void destroy_graph(CUgraphExec, BlockPool*);  // null: there is none

}  // namespace shim::cuda
