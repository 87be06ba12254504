#pragma once
#include <string_view>

#include "trace/session.h"

namespace shim::trace {

// A call of a compiled function; no other may run.
struct Running {
  Session session;
  Running(Tree&, bool watch);
  ~Running();
};

// Of the call that runs, if one does. A pause ends by what it gave; `deferred`: operators may be deferred for all that.
bool is_traced_here();
void run_what_is_deferred();
void end_graph(std::string_view reason);
int64_t pause(bool deferred);
void resume(int64_t was);

// Kernels of torch.library: between the two, reading values breaks no graph.
void enter_operator();
void leave_operator();

void before_number(const Storage&);  // its one number is read, and decides nothing
void run_deferred(const Storage&);   // Storage::run_deferred

}  // namespace shim::trace
