#include "gemm/direct.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>

#include "gemm/plan.h"

namespace shim::gemm {

using namespace cuda;
using Pointers = std::array<uint64_t, DirectLaunch::kOperands>;

namespace {

constexpr int kNonBlocking = 1, kRelaxed = 2, kKernelNode = 0;
void *const kBufferPointer = reinterpret_cast<void*>(1), *const kBufferSize = reinterpret_cast<void*>(2);      // of packed parameters
constexpr unsigned char kProgrammatic = 1;      // an edge's type, and the port it leaves from
enum AttributeId { window = 1, cooperative = 2, cluster = 4, cluster_policy = 5, programmatic = 6, preferred_cluster = 11, carveout = 14 };

uint64_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

Pointers pointers_of(const GemmBuffers& g, const void* work) {
  return {address(g.a), address(g.b), address(g.d), address(g.bias), address(g.aux), address(g.scale_a), address(g.scale_b), address(work)};
}

GemmBuffers buffers_at(const Pointers& p) {
  const auto at = [&](int i) { return reinterpret_cast<void*>(p[size_t(i)]); };
  return {.a = at(0), .b = at(1), .d = at(2), .bias = at(3), .aux = at(4), .scale_a = static_cast<float*>(at(5)), .scale_b = static_cast<float*>(at(6))};
}

// Other addresses, as aligned as a plan's key tells (256 bytes); each operand is moved by a distance of its own, in the low or the high bits.
Pointers moved(const Pointers& from, bool far) {
  Pointers to = from;
  for (uint64_t i = 0; i < to.size(); ++i) {
    const uint64_t high = (i * 5 + 1) << 32, low = (i + 1) * (far ? (i + 3) * 0x11300 : 0x10100);
    if (to[i]) to[i] += low + (!far ? 0 : to[i] >> 46 ? -high : high);  // within the addresses a device has
  }
  return to;
}

template <class T>
T word_at(const std::vector<unsigned char>& bytes, size_t offset) {
  T w;
  std::memcpy(&w, bytes.data() + offset, sizeof w);
  return w;
}

}  // namespace

// What the library launches for one set of pointers after another, as a graph that nobody runs.
class Capture {
 public:
  Capture() = default;
  Capture(const Capture&) = delete;
  ~Capture() {
    if (graph_) driver().graph_destroy(graph_);
    if (stream_) driver().stream_destroy(stream_);
  }

  std::string record(const Plan& plan, int candidate, const std::vector<Pointers>& sets, const Scalars& scalars) {
    const Driver& driver = cuda::driver();
    if (!driver.graph_edges || !driver.kernel_node || !driver.function_parameter || !driver.kernel_parameter || !driver.launch_ex || !driver.stream_destroy)
      return "the driver is older than CUDA 12.4";
    if (driver.stream_create(&stream_, kNonBlocking, 0) != 0) return "no stream";
    if (driver.capture_begin(stream_, kRelaxed) != 0) return "no capture";
    bool ok = true;
    for (const Pointers& p : sets)
      ok = ok && run_plan(plan, candidate, buffers_at(p), scalars, reinterpret_cast<void*>(p[DirectLaunch::work]), stream_) == cublaslt::kSuccess;
    const bool ended = driver.capture_end(stream_, &graph_) == 0 && graph_;
    if (!ok || !ended) return "the library does not run under capture";
    if (std::string wrong = read_chain(); !wrong.empty()) return wrong;
    return nodes_.size() % sets.size() || nodes_.empty() ? "the launches differ in number" : "";
  }

  // The kernels of every set, in order.
  std::string kernels(std::vector<DirectLaunch::Kernel>& to) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      DirectLaunch::Kernel k;
      if (std::string wrong = read_kernel(i, k); !wrong.empty()) return wrong;
      to.push_back(std::move(k));
    }
    return {};
  }

 private:
  // The nodes in the order of their dependencies: each on the one before, and on nothing else.
  std::string read_chain() {
    const Driver& driver = cuda::driver();
    size_t count = 0, edges = 0;
    if (driver.graph_nodes(graph_, nullptr, &count) != 0 || driver.graph_edges(graph_, nullptr, nullptr, nullptr, &edges) != 0) return "the graph cannot be read";
    if (count == 0 || count > 64 || edges != count - 1) return std::to_string(count) + " nodes with " + std::to_string(edges) + " edges";
    std::vector<CUgraphNode> nodes(count), from(edges), to(edges);
    std::vector<EdgeData> data(edges);
    if (driver.graph_nodes(graph_, nodes.data(), &count) != 0) return "the graph cannot be read";
    if (edges && driver.graph_edges(graph_, from.data(), to.data(), data.data(), &edges) != 0) return "the graph cannot be read";
    std::map<CUgraphNode, size_t> leaving;
    CUgraphNode first = nullptr;
    for (size_t i = 0; i < edges; ++i)
      if (!leaving.emplace(from[i], i).second) return "the graph is no chain";
    for (CUgraphNode n : nodes)
      if (std::find(to.begin(), to.end(), n) == to.end()) first = n;
    early_.assign(1, false);
    for (CUgraphNode n = first; n;) {
      int type = -1;
      if (driver.node_type(n, &type) != 0 || type != kKernelNode) return "a node of type " + std::to_string(type);
      nodes_.push_back(n);
      const auto next = leaving.find(n);
      if (next == leaving.end()) break;
      const EdgeData& e = data[next->second];
      if (e.to_port || (e.type != 0 && e.type != kProgrammatic) || e.from_port != (e.type ? kProgrammatic : 0)) return "an edge of an unknown kind";
      early_.push_back(e.type == kProgrammatic);
      n = to[next->second];
    }
    return nodes_.size() == count ? "" : "the graph is no chain";
  }

  std::string read_kernel(size_t index, DirectLaunch::Kernel& k) const {
    const Driver& driver = cuda::driver();
    KernelNode node{};
    if (driver.kernel_node(nodes_[index], &node) != 0) return "a kernel cannot be read";
    k.function = node.function ? node.function : reinterpret_cast<CUfunction>(node.kernel);
    std::copy_n(node.grid, 3, k.grid);
    std::copy_n(node.block, 3, k.block);
    k.shared_bytes = node.shared_bytes;
    const std::string wrong = node.parameters ? read_parameters(node, k) : read_packed(node, k);
    return wrong.empty() ? read_attributes(index, k) : wrong;
  }

  // One parameter's place; past the last: false, and no error.
  static bool place(const KernelNode& node, size_t i, size_t& offset, size_t& size, std::string& wrong) {
    const Driver& driver = cuda::driver();
    const CUresult r = node.function ? driver.function_parameter(node.function, i, &offset, &size) : driver.kernel_parameter(node.kernel, i, &offset, &size);
    if (r == 0 && offset + size > DirectLaunch::kMostBytes) wrong = "too many parameters";
    if (r != 0 && (r != 1 || i == 0)) wrong = "cuFuncGetParamInfo gives " + std::to_string(r);
    return r == 0 && wrong.empty();
  }

  static std::string read_parameters(const KernelNode& node, DirectLaunch::Kernel& k) {
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
  static std::string read_packed(const KernelNode& node, DirectLaunch::Kernel& k) {
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

  std::string read_attributes(size_t index, DirectLaunch::Kernel& k) const {
    for (int id : {window, cooperative, cluster, cluster_policy, preferred_cluster, carveout}) {
      LaunchAttribute a{};
      a.id = id;
      if (cuda::driver().kernel_node_attribute(nodes_[index], id, a.value) != 0) {
        if (id == preferred_cluster || id == carveout) continue;         // newer than some drivers
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
    if (early_[index]) {                        // its start overlaps the end of the kernel before; it waits by itself
      LaunchAttribute a{};
      a.id = programmatic;
      a.value[0] = 1;
      k.attributes.push_back(a);
    }
    return {};
  }

  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> nodes_;
  std::vector<bool> early_;
};

namespace {

// The outputs of a problem in memory of their own, twice: what the library writes and what the direct launch writes.
class Twin {
 public:
  Twin(const GemmProblem& p, const GemmBuffers& given, CUstream stream) : given_(given), stream_(stream) {
    const bool grads = p.epilogue == Epilogue::bgrad_a || p.epilogue == Epilogue::bgrad_b || p.epilogue == Epilogue::drelu_bgrad || p.epilogue == Epilogue::dgelu_bgrad;
    const bool keeps = p.epilogue == Epilogue::gelu_aux || p.epilogue == Epilogue::gelu_aux_bias || p.epilogue == Epilogue::relu_aux || p.epilogue == Epilogue::relu_aux_bias;
    d_ = result_bytes(p);
    bias_ = grads ? size_t(std::max(p.m, p.n)) * 8 : 0;
    aux_ = keeps ? (size_t(p.batch - 1) * size_t(p.aux_stride) + size_t(p.n) * size_t(p.aux_ld)) * itemsize(p.d_dtype) : 0;
    aux_at_ = up(d_);
    bias_at_ = aux_at_ + up(aux_);
    total_ = bias_at_ + up(bias_);
    if (driver().mem_alloc_async(&memory_, 2 * total_, stream) != 0) memory_ = 0;
    // No zeros, and no NaNs where what is there is read: a number in every dtype.
    if (memory_) driver().memset_async(memory_, 0x3c, 2 * total_, stream);
  }
  Twin(const Twin&) = delete;
  ~Twin() { if (memory_) driver().mem_free_async(memory_, stream_); }

  bool ready() const { return memory_ != 0; }
  GemmBuffers buffers(int which) const {
    GemmBuffers to = given_;
    const CUdeviceptr base = memory_ + CUdeviceptr(which) * total_;
    to.d = reinterpret_cast<void*>(base);
    if (aux_) to.aux = reinterpret_cast<void*>(base + aux_at_);
    if (bias_) to.bias = reinterpret_cast<void*>(base + bias_at_);
    return to;
  }
  bool equal() const {
    std::vector<unsigned char> host(2 * total_);
    if (driver().memcpy_async(reinterpret_cast<CUdeviceptr>(host.data()), memory_, host.size(), stream_) != 0) return false;
    return driver().stream_synchronize(stream_) == 0 && std::memcmp(host.data(), host.data() + total_, total_) == 0;
  }

 private:
  static size_t up(size_t n) { return (n + 511) / 512 * 512; }
  GemmBuffers given_;
  CUstream stream_;
  CUdeviceptr memory_ = 0;
  size_t d_ = 0, aux_ = 0, bias_ = 0, aux_at_ = 0, bias_at_ = 0, total_ = 0;
};

}  // namespace

std::unique_ptr<DirectLaunch> DirectLaunch::make(const Plan& plan, int candidate, const GemmBuffers& given, const Scalars& scalars, void* work,
                                                 CUstream stream, std::string& why) {
  const Pointers real = pointers_of(given, work);
  const std::vector<Pointers> sets{real, moved(real, false), moved(real, true)};
  Capture capture;
  std::vector<Kernel> all;
  if (!(why = capture.record(plan, candidate, sets, scalars)).empty() || !(why = capture.kernels(all)).empty()) return nullptr;
  const size_t count = all.size() / sets.size();
  auto direct = std::make_unique<DirectLaunch>();
  for (size_t i = 0; i < count; ++i) {
    // The second set shows how the first kernel follows what was before it.
    Kernel k = all[count + i];
    const Kernel &first = all[i], &third = all[2 * count + i];
    for (const Kernel* other : {&first, &third})
      if (other->function != k.function || !std::equal(k.grid, k.grid + 3, other->grid) || !std::equal(k.block, k.block + 3, other->block) ||
          other->shared_bytes != k.shared_bytes || other->offsets != k.offsets || other->size != k.size) {
        why = "the launch depends on the addresses";
        return nullptr;
      }
    for (size_t at = 0; at < k.bytes.size(); at += 8) {
      const uint64_t one = word_at<uint64_t>(first.bytes, at), two = word_at<uint64_t>(k.bytes, at), three = word_at<uint64_t>(third.bytes, at);
      if (one == two && one == three) continue;
      size_t o = 0;
      while (o < kOperands && !(real[o] && two - one == sets[1][o] - real[o] && three - one == sets[2][o] - real[o])) ++o;
      if (o == kOperands) {
        char words[96];
        snprintf(words, sizeof words, " is no operand: %llx, %llx, %llx", (unsigned long long)one, (unsigned long long)two, (unsigned long long)three);
        why = "kernel " + std::to_string(i) + ": the word at " + std::to_string(at) + words;
        return nullptr;
      }
      k.patches.push_back({uint16_t(at), uint8_t(o), one - real[o]});
    }
    direct->kernels_.push_back(std::move(k));
  }
  Twin twin(plan.key.problem, given, stream);
  if (!twin.ready()) {
    why = "no memory to verify it";
    return nullptr;
  }
  const bool ran = run_plan(plan, candidate, twin.buffers(0), scalars, work, stream) == cublaslt::kSuccess && direct->run(twin.buffers(1), work, stream);
  if (!ran || !twin.equal()) {
    why = ran ? "other bits than the library's" : "the driver refuses the launch";
    return nullptr;
  }
  why = direct->text();
  return direct;
}

bool DirectLaunch::run(const GemmBuffers& buffers, void* work, CUstream stream) const {
  const Pointers now = pointers_of(buffers, work);
  alignas(64) unsigned char bytes[kMostBytes];
  void* parameters[kMostParameters];
  for (const Kernel& k : kernels_) {
    std::memcpy(bytes, k.bytes.data(), k.bytes.size());
    for (const Patch& p : k.patches) {
      const uint64_t word = now[p.operand] + p.add;
      std::memcpy(bytes + p.offset, &word, sizeof word);
    }
    for (size_t i = 0; i < k.offsets.size(); ++i) parameters[i] = bytes + k.offsets[i];
    size_t size = k.size;
    void* packed[] = {kBufferPointer, bytes, kBufferSize, &size, nullptr};
    const bool given = !k.offsets.empty();
    LaunchConfig config{.shared_bytes = k.shared_bytes, .stream = stream, .attributes = const_cast<LaunchAttribute*>(k.attributes.data()),
                        .count = unsigned(k.attributes.size())};
    std::copy_n(k.grid, 3, config.grid);
    std::copy_n(k.block, 3, config.block);
    if (driver().launch_ex(&config, k.function, given ? parameters : nullptr, given ? nullptr : packed) != 0) return false;
  }
  return true;
}

std::string DirectLaunch::text() const {
  std::string t = std::to_string(kernels_.size()) + (kernels_.size() == 1 ? " kernel" : " kernels");
  for (const Kernel& k : kernels_) {
    t += "; " + (k.size ? std::string("packed") : std::to_string(k.offsets.size())) + " parameters, " + std::to_string(k.bytes.size()) + " bytes, " + std::to_string(k.patches.size()) + " pointers";
    for (const LaunchAttribute& a : k.attributes) t += ", attribute " + std::to_string(a.id);
  }
  return t;
}

}  // namespace shim::gemm
