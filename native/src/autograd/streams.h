#pragma once
// Streams and devices of a backward pass: a node runs on its device, on the stream that its forward ran on; gradients that come from another
// stream are waited for, and in the end the caller's streams wait for all.
#include <memory>
#include <unordered_map>
#include <vector>

#include "autograd/autograd.h"

namespace shim {

// What the engine asks of CUDA; set by cuda/, null without.
struct StreamOps {
  // The stream that this thread's last work on the device went to, where it is one that never ends; false: another one.
  bool (*of_forward)(int device, void** stream) = nullptr;
  int (*current_device)() = nullptr;
  void* (*current)(int device) = nullptr;
  void (*set_device)(int device) = nullptr;
  void (*set_current)(int device, void* stream) = nullptr;
  void* (*record)(int device, void* stream) = nullptr;  // an event
  void (*wait)(int device, void* stream, void* event) = nullptr;
  void (*drop)(void* event) = nullptr;
  void (*keep)(const Tensor&, int device, void* stream) = nullptr;  // the stream works on its memory too
};
StreamOps& stream_ops();

struct StreamPlace {
  int device = -1;  // -1: no GPU
  void* stream = nullptr;
  bool operator==(const StreamPlace&) const = default;
};

class BackwardStreams {
 public:
  ~BackwardStreams();
  // Told of every node before the pass; afterwards `idle()` says whether all run where the caller is, and nothing else is to be called.
  void see(const Node& n) {
    if (n.gpu < 0) return;
    apart_ = apart_ || n.gpu != caller_device() || place_of(n) != ambient(n.gpu);
  }
  bool idle() const { return !apart_; }

  // A gradient made by the node that runs now is about to be added to what `consumer` has got; then, or if it is the first, it is sent.
  void before_sum(const Node& consumer, const Tensor& got);
  void sent(const Node& consumer, const Tensor& g);

  class Entered {  // the node's device and stream are current within
   public:
    Entered(BackwardStreams*, const Node&, const Grads&);
    ~Entered();
    Entered(const Entered&) = delete;

   private:
    BackwardStreams* streams_ = nullptr;
    StreamPlace before_, running_before_;
    int device_before_ = -1;
  };
  void captured(const Tensor&);  // handed to the caller
  void finish();                 // the caller's streams wait for all others

 private:
  struct Arrival {
    StreamPlace from;
    void* event;
  };
  int caller_device();
  StreamPlace ambient(int device);             // the caller's current stream there
  StreamPlace place_of(const Node&);           // where it runs
  StreamPlace ready(int device);               // what work on the device is ordered after now
  StreamPlace taken(const Node&, int device);  // where the node reads a gradient on the device
  void order(StreamPlace first, StreamPlace later);

  bool apart_ = false;
  int caller_ = -1;
  std::vector<StreamPlace> ambient_;
  StreamPlace running_;
  std::unordered_map<const Node*, std::vector<Arrival>> arrivals_;
  std::vector<StreamPlace> used_;
};

}  // namespace shim
