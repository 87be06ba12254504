// Stream capture and graphs of the simulated driver, and what is asked of their nodes.
#pragma once
#include <cstdlib>
#include <functional>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "driver_contexts.h"
#include "launch_config.h"

extern "C" {

// Captures in the relaxed mode (2) are recorded: the kernels of cuLaunchKernelEx, and the memory sets. Others see everything run.
struct Parameter {
  size_t offset, size;
};
struct Function {
  void (*launch)(const char*, unsigned, unsigned, unsigned, unsigned, void**);
  std::string name;
  std::vector<Parameter> parameters;              // none: cuFuncGetParamInfo refuses
  Context* context = nullptr;                     // null: of any, as a library's kernels
  void** (*keep)(const char*, void**) = nullptr;  // copies of arguments, for ever
};
struct Node {
  int type = 0;  // 0 a kernel, 2 a memory set
  Config config{};
  Function* function = nullptr;
  std::vector<Attribute> attributes;
  std::vector<std::vector<unsigned char>> values;
  std::vector<void*> pointers;
  struct {
    unsigned long long to;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
  } set{};
  std::vector<unsigned char> buffer;  // of packed parameters
  size_t size = 0;
  void* extra[5] = {};
};
struct Graph {
  std::vector<Node*> nodes;
  std::vector<std::function<void()>> work;  // what a launch does, in order
};
struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared;
  void **parameters, **extra;
  void *kernel, *context;
};
static auto& recording = *new std::map<void*, Graph*>();
static Graph* recorded(void* stream) {
  auto it = recording.find(stream);
  return it == recording.end() ? nullptr : it->second;
}

int cuStreamBeginCapture_v2(void* s, int mode) {
  if (mode == 2) recording[s] = new Graph();
  return 0;
}
int cuStreamEndCapture(void* s, void** g) {
  Graph* own = recorded(s);
  *g = own ? own : new Graph();
  recording.erase(s);
  return 0;
}
int cuGraphDestroy(void* g) {
  for (Node* n : static_cast<Graph*>(g)->nodes) delete n;
  delete static_cast<Graph*>(g);
  return 0;
}
int cuGraphGetNodes(void* g, void** nodes, size_t* count) {
  auto& all = static_cast<Graph*>(g)->nodes;
  for (size_t i = 0; nodes && i < all.size(); ++i) nodes[i] = all[all.size() - 1 - i];  // in no order that helps
  *count = all.size();
  return 0;
}
int cuGraphGetEdges_v2(void* g, void** from, void** to, unsigned char (*data)[8], size_t* count) {
  auto& all = static_cast<Graph*>(g)->nodes;
  *count = all.empty() ? 0 : all.size() - 1;
  for (size_t i = 0; from && i < *count; ++i) {
    from[i] = all[i];
    to[i] = all[i + 1];
    std::memset(data[i], 0, 8);
    for (const Attribute& a : all[i + 1]->attributes)
      if (a.id == 6 && a.value[0]) data[i][0] = data[i][2] = 1;
  }
  return 0;
}
int cuGraphNodeGetType(void* n, int* type) {
  *type = static_cast<Node*>(n)->type;
  return 0;
}
int cuGraphKernelNodeGetParams_v2(void* n, KernelNode* to) {
  Node& node = *static_cast<Node*>(n);
  *to = KernelNode{node.function, {}, {}, node.config.shared, node.size ? nullptr : node.pointers.data(),
      node.size ? node.extra : nullptr, nullptr, nullptr};
  std::memcpy(to->grid, node.config.grid, sizeof to->grid);
  std::memcpy(to->block, node.config.block, sizeof to->block);
  return 0;
}
int cuGraphMemsetNodeGetParams(void* n, void* to) {
  std::memcpy(to, &static_cast<Node*>(n)->set, sizeof Node::set);
  return 0;
}
int cuGraphKernelNodeGetAttribute(void* n, int id, void* value) {
  std::memset(value, 0, 64);
  for (const Attribute& a : static_cast<Node*>(n)->attributes)
    if (a.id == id) std::memcpy(value, a.value, 64);
  return 0;
}
int cuFuncGetParamInfo(Function* f, size_t i, size_t* offset, size_t* size) {
  if (i >= f->parameters.size()) return 1;
  *offset = f->parameters[i].offset;
  *size = f->parameters[i].size;
  return 0;
}
int cuKernelGetParamInfo(void*, size_t, size_t*, size_t*) { return 1; }
using Exec = std::vector<std::function<void()>>;
std::set<void*> execs;
int cuGraphInstantiateWithFlags(void** e, void* graph, unsigned long long) {
  if (!current) return kInvalidContext;
  execs.insert(*e = new Exec(static_cast<Graph*>(graph)->work));
  return 0;
}
int cuGraphLaunch(void* e, void* stream) {
  note("graph", stream);
  if (int failed = failure_on(stream)) return failed;
  if (execs.count(e))  // a check may launch a handle that is none, to see on which stream
    for (auto& work : *static_cast<Exec*>(e)) work();
  return 0;
}
int cuGraphExecDestroy(void* e) {
  if (execs.erase(e)) delete static_cast<Exec*>(e);
  return 0;
}

}  // extern "C"
