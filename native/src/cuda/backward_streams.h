#pragma once
// What autograd is told of streams (autograd/streams.h).
#include "cuda/driver.h"

namespace shim::cuda {

void install_backward_streams(void (*set_current)(int device, void* stream));
void remember_stream(CUstream);                // one that is never destroyed
bool stream_used_last(int device, CUstream*);  // by this thread's last work on the device; false: there was none

}  // namespace shim::cuda
