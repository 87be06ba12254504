#include "gemm/capture.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "gemm/plan.h"

namespace shim::gemm {

using namespace cuda;

namespace {

constexpr int kNonBlocking = 1, kRelaxed = 2, kKernelNode = 0, kMemsetNode = 2;
void *const kBufferPointer = reinterpret_cast<void*>(1), *const kBufferSize =
                                                             reinterpret_cast<void*>(2);  // of packed parameters
constexpr unsigned char kProgrammatic = 1;  // an edge's type, and the port it leaves from
enum AttributeId {
  window = 1,
  cooperative = 2,
  cluster = 4,
  cluster_policy = 5,
  programmatic = 6,
  preferred_cluster = 11,
  carveout = 14
};

// One parameter's place; past the last: false, and no error.
bool place(const KernelNode& node, size_t i, size_t& offset, size_t& size, std::string& wrong) {
  const Driver& driver = cuda::driver();
  const CUresult r = node.function ? driver.function_parameter(node.function, i, &offset, &size)
                                   : driver.kernel_parameter(node.kernel, i, &offset, &size);
  if (r == 0 && offset + size > DirectLaunch::kMostBytes) wrong = "too many parameters";
  if (r != 0 && (r != 1 || i == 0)) wrong = "cuFuncGetParamInfo gives " + std::to_string(r);
  return r == 0 && wrong.empty();
}

std::string read_parameters(const KernelNode& node, DirectLaunch::Kernel& k) {
  size_t offset = 0, size = 0;
  std::string wrong;
  for (size_t i = 0; place(node, i, offset, size, wrong); ++i) {
    if (i == DirectLaunch::kMostParameters) return "too many parameters";
    k.bytes.resize(std::max(k.bytes.size(), (offset + size + 7) / 8 * 8), 0);
    std::memcpy(k.bytes.data() + offset, node.parameters[i], size);
    k.offsets.push_back(uint16_t(offset));
  }
  return wrong;
}

// A buffer as the kernel sees it; what is between the parameters is nobody's, and left zero.
std::string read_packed(const KernelNode& node, DirectLaunch::Kernel& k) {
  const unsigned char* buffer = nullptr;
  for (void** e = node.extra; e && e[0]; e += 2) {
    if (e[0] == kBufferPointer) buffer = static_cast<unsigned char*>(e[1]);
    if (e[0] == kBufferSize) k.size = *static_cast<size_t*>(e[1]);
  }
  if (!buffer || !k.size || k.size > DirectLaunch::kMostBytes) return "a kernel without parameters";
  k.bytes.resize((k.size + 7) / 8 * 8, 0);
  size_t offset = 0, size = 0;
  std::string wrong;
  for (size_t i = 0; place(node, i, offset, size, wrong); ++i) {
    if (offset + size > k.size) return "packed parameters of another size";
    std::memcpy(k.bytes.data() + offset, buffer + offset, size);
  }
  return wrong;
}

}  // namespace

Capture::~Capture() {
  if (graph_) driver().graph_destroy(graph_);
  if (stream_) driver().stream_destroy(stream_);
}

std::string Capture::record(const Plan& plan, int candidate, const std::vector<GemmBuffers>& sets,
    const std::vector<void*>& works, const Scalars& scalars) {
  const Driver& driver = cuda::driver();
  if (!driver.graph_edges || !driver.kernel_node || !driver.memset_node || !driver.function_parameter ||
      !driver.kernel_parameter || !driver.launch_ex || !driver.stream_destroy)
    return "the driver is older than CUDA 12.4";
  if (driver.stream_create(&stream_, kNonBlocking, 0) != 0) return "no stream";
  if (driver.capture_begin(stream_, kRelaxed) != 0) return "no capture";
  bool ok = true;
  for (size_t i = 0; i < sets.size(); ++i)
    ok = ok && run_plan(plan, candidate, sets[i], scalars, works[i], stream_) == cublaslt::kSuccess;
  const bool ended = driver.capture_end(stream_, &graph_) == 0 && graph_;
  if (!ok || !ended) return "the library does not run under capture";
  if (std::string wrong = read_chain(); !wrong.empty()) return wrong;
  return nodes_.size() % sets.size() || nodes_.empty() ? "the launches differ in number" : "";
}

std::string Capture::kernels(std::vector<DirectLaunch::Kernel>& to) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    DirectLaunch::Kernel k;
    if (std::string wrong = read_kernel(i, k); !wrong.empty()) return wrong;
    to.push_back(std::move(k));
  }
  return {};
}

// The nodes in the order of their dependencies: each on the one before, and on nothing else.
std::string Capture::read_chain() {
  const Driver& driver = cuda::driver();
  size_t count = 0, edges = 0;
  if (driver.graph_nodes(graph_, nullptr, &count) != 0 ||
      driver.graph_edges(graph_, nullptr, nullptr, nullptr, &edges) != 0)
    return "the graph cannot be read";
  if (count == 0 || count > 64 || edges != count - 1)
    return std::to_string(count) + " nodes with " + std::to_string(edges) + " edges";
  std::vector<CUgraphNode> nodes(count), from(edges), to(edges);
  std::vector<EdgeData> data(edges);
  if (driver.graph_nodes(graph_, nodes.data(), &count) != 0) return "the graph cannot be read";
  if (edges && driver.graph_edges(graph_, from.data(), to.data(), data.data(), &edges) != 0)
    return "the graph cannot be read";
  std::map<CUgraphNode, size_t> leaving;
  CUgraphNode first = nullptr;
  for (size_t i = 0; i < edges; ++i)
    if (!leaving.emplace(from[i], i).second) return "the graph is no chain";
  for (CUgraphNode n : nodes)
    if (std::find(to.begin(), to.end(), n) == to.end()) first = n;
  early_.assign(1, false);
  for (CUgraphNode n = first; n;) {
    int type = -1;
    if (driver.node_type(n, &type) != 0 || (type != kKernelNode && type != kMemsetNode))
      return "a node of type " + std::to_string(type);
    nodes_.push_back(n);
    sets_.push_back(type == kMemsetNode);
    const auto next = leaving.find(n);
    if (next == leaving.end()) break;
    const EdgeData& e = data[next->second];
    if (e.to_port || (e.type != 0 && e.type != kProgrammatic) || e.from_port != (e.type ? kProgrammatic : 0))
      return "an edge of an unknown kind";
    early_.push_back(e.type == kProgrammatic);
    n = to[next->second];
  }
  return nodes_.size() == count ? "" : "the graph is no chain";
}

std::string Capture::read_kernel(size_t index, DirectLaunch::Kernel& k) const {
  const Driver& driver = cuda::driver();
  if (sets_[index]) {  // as if it were a kernel of two parameters
    MemsetNode set{};
    if (driver.memset_node(nodes_[index], &set) != 0 || set.value || set.height != 1)
      return "a memory set that is not of zeros";
    const uint64_t words[2] = {set.to, set.width * set.element_size};
    k.bytes.resize(sizeof words);
    std::memcpy(k.bytes.data(), words, sizeof words);
    return {};
  }
  KernelNode node{};
  if (driver.kernel_node(nodes_[index], &node) != 0) return "a kernel cannot be read";
  k.function = node.function ? node.function : reinterpret_cast<CUfunction>(node.kernel);
  std::copy_n(node.grid, 3, k.grid);
  std::copy_n(node.block, 3, k.block);
  k.shared_bytes = node.shared_bytes;
  const std::string wrong = node.parameters ? read_parameters(node, k) : read_packed(node, k);
  return wrong.empty() ? read_attributes(index, k) : wrong;
}

std::string Capture::read_attributes(size_t index, DirectLaunch::Kernel& k) const {
  for (int id : {window, cooperative, cluster, cluster_policy, preferred_cluster, carveout}) {
    LaunchAttribute a{};
    a.id = id;
    if (cuda::driver().kernel_node_attribute(nodes_[index], id, a.value) != 0) {
      if (id == preferred_cluster || id == carveout) continue;  // newer than some drivers
      return "attribute " + std::to_string(id) + " cannot be read";
    }
    uint64_t words[2];
    std::memcpy(words, a.value, sizeof words);
    if (id == window) {
      if (words[1]) return "an access policy window";
      continue;
    }
    const bool of_cluster = id == cluster || id == preferred_cluster;
    const bool set = of_cluster ? words[0] != 0 : id == carveout ? int(words[0]) > 0 : int(words[0]) != 0;
    std::memset(a.value + (of_cluster ? 12 : 4), 0, sizeof a.value - (of_cluster ? 12 : 4));
    if (set) k.attributes.push_back(a);
  }
  if (early_[index]) {  // its start overlaps the end of the kernel before; it waits by itself
    LaunchAttribute a{};
    a.id = programmatic;
    a.value[0] = 1;
    k.attributes.push_back(a);
  }
  return {};
}

}  // namespace shim::gemm
