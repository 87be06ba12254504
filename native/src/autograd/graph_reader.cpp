#include "autograd/graph_reader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include "autograd/nodes.h"
#include "autograd/streams.h"
#include "ops/value.h"

namespace shim {

namespace {
std::atomic<uint64_t> readers{0};
thread_local std::vector<uint64_t> room;  // tens of kilobytes, that a pass need not ask the allocator for
}  // namespace

GraphReader::GraphReader() : number_(++readers), words_(std::move(room)) { words_.clear(); }
GraphReader::~GraphReader() { room = std::move(words_); }

bool GraphReader::tensor(const Tensor& t) {
  if (!t) return word(0), true;
  if (!is_plain(t) || t->device().is_meta()) return false;
  word(1 | uint64_t(t->dtype()) << 8 | uint64_t(t->device().type) << 16 | uint64_t(uint8_t(t->device().index)) << 24 |
       uint64_t(t->wrapped_number) << 32 | uint64_t(t->requires_grad()) << 33);
  dims(t->sizes());
  dims(t->strides());
  word(uint64_t(t->storage_offset()));
  return memory(t->storage());
}

bool GraphReader::value(const Value& v) {
  const bool counts = v.tag == Value::text || v.tag == Value::list;  // of others nobody has set the size
  word(uint64_t(v.tag) | (counts ? uint64_t(v.size) << 8 : 0));
  switch (v.tag) {
    case Value::none: return true;
    case Value::boolean:
    case Value::dtype:
    case Value::layout:
    case Value::memory_format: return word(uint64_t(v.i)), true;
    case Value::integer: return word(uint64_t(v.i)), v.width == Value::word;
    case Value::real: return word(std::bit_cast<uint64_t>(v.f)), true;
    case Value::device: return word(uint64_t(v.where.type) << 8 | uint8_t(v.where.index)), true;
    case Value::text:
      for (char c : std::string_view(v.chars, v.size)) word(uint64_t(c));
      return true;
    case Value::list: return std::ranges::all_of(std::span(v.items, v.size), [&](const Value& i) { return value(i); });
    default: return false;
  }
}

void GraphReader::arrive(const Edge& e, size_t from, size_t edge) {
  heap_.push_back({e.node->sequence, e.node.get(), uint32_t(from), uint32_t(edge), e.input_nr});
  std::push_heap(heap_.begin(), heap_.end());
}

bool GraphReader::leaf(AccumulateGrad& a) {
  const bool known = a.reader == number_;
  if (!known) a.reader = number_, a.read_as = uint32_t(leaves_.size());
  word(a.read_as);
  if (known) return true;
  leaves_.push_back(&a);
  const AutogradMeta* m = a.variable()->autograd();
  if (!m || !m->hooks.empty() || !m->post_accumulate.empty()) return false;
  return tensor(a.variable()) && tensor(m->grad);
}

bool GraphReader::node(Node& n) {
  if (!n.pre_hooks.empty() || !n.tensor_pre_hooks.empty() || !n.retain_hooks.empty() || !n.post_hooks.empty())
    return false;
  word(n.inputs.size());
  for (const InputMeta& m : n.inputs) {
    dims(m.sizes);
    word(uint64_t(m.dtype) | uint64_t(m.device.type) << 8 | uint64_t(uint8_t(m.device.index)) << 16);
  }
  word(n.next_edges.size());
  if (n.gpu >= 0) {
    word(uint64_t(n.gpu) << 1 | uint64_t(n.on_stream));
    pointer(n.stream);
    pointer(stream_ops().current(n.gpu));
  }
  return true;
}

// Nodes are met as the pass would run them, later ones first. All edges that lead to a node are on the heap when it is its turn.
bool GraphReader::read(const std::vector<Edge>& roots, const Grads& gradients) {
  for (size_t i = 0; i < roots.size(); ++i) {
    if (!roots[i]) return false;
    arrive(roots[i], std::numeric_limits<uint32_t>::max(), i);
    if (!tensor(gradients[i])) return false;
  }
  uint64_t before = std::numeric_limits<uint64_t>::max();
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Arrival a = heap_.back();
    heap_.pop_back();
    word(uint64_t(a.from) << 32 | a.edge);
    word(a.input);
    if (a.node->next_edges.empty() && a.sequence == std::numeric_limits<uint64_t>::max()) {
      auto* end = dynamic_cast<AccumulateGrad*>(a.node);
      if (!end || !node(*end) || !leaf(*end)) return false;
      continue;
    }
    if (!nodes_.empty() && nodes_.back() == a.node) continue;
    if (a.sequence >= before) return false;
    before = a.sequence;
    nodes_.push_back(a.node);
    if (!node(*a.node) || !a.node->read(*this)) return false;
    for (size_t i = 0; i < a.node->next_edges.size(); ++i)
      if (a.node->next_edges[i]) arrive(a.node->next_edges[i], nodes_.size(), i);
  }
  return true;
}

}  // namespace shim
