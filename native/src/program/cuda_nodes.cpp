#include "program/cuda_nodes.h"

#include <cstring>

#include "cpu/formulas.h"
#include "cuda/elementwise.h"

namespace shim::program {

std::string operand_name(Source s) {
  const char kind = s.kind == Source::node ? 'v' : s.kind == Source::load ? 'i' : 'n';
  return str(kind, s.index);
}

namespace {

// Programs of their own, or the element type of their result.
bool needs_more(std::string_view op) { return op.starts_with("igamma") || op == "bce_each" || op == "nextafter"; }

// How fused.cuh calls a node's functor, and the functor.
void call_of(const Node& n, std::string* how, std::string* functor) {
  *functor = "copy_";
  if (!n.cpu) {
    const bool narrow = n.narrow != DType::undefined;
    *how = narrow ? "NARROW" : n.result == DType::b8 ? "TRUTH" : "CONVERT";
    if (narrow) *functor = cuda::element_type(n.narrow);
    return;
  }
  const cuda::Functor& f = *cuda::functor_of(n.op);
  *functor = f.name;
  if (std::string_view(n.op) == "div" && is_floating(n.in) && n.args[1].kind == Source::number) *functor = "div_number";
  *how = str(n.in == DType::b8 && n.result == DType::b8 ? "TRUTH" : "CALL", int(n.count));
  if (f.extra) *how = str("EXTRA", f.inputs == 1 ? 1 : pointwise_formula(n.op)->tensors);
}

void put_nodes(const Group& g, std::vector<std::string>& m) {
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    std::string how, functor;
    call_of(n, &how, &functor);
    m.push_back(str("F_", i, "=", how));
    m.push_back(str("OP_", i, "=", functor));
    m.push_back(str("C_", i, "=", cuda::compute_type(n.in)));
    m.push_back(str("R_", i, "=", cuda::compute_type(n.result)));
    for (int k = 0; k < 4; ++k)
      m.push_back(str("XYZW"[k], "_", i, "=", k < n.count ? operand_name(n.args[k]) : std::string("0")));
  }
}

}  // namespace

bool known_on_cuda(const char* op, int operands) {
  const cuda::Functor* f = needs_more(op) ? nullptr : cuda::functor_of(op);
  if (!f) return false;
  if (!f->extra) return f->inputs == operands;
  const PointwiseFormula* formula = pointwise_formula(op);
  return f->inputs == 1 ? operands <= 4 : formula && formula->tensors >= 2 && formula->tensors <= 3;
}

void GroupMemory::put_numbers(const Group& g, std::span<const Scalar> parameters) {
  for (size_t k = 0; k < g.numbers.size(); ++k) {
    alignas(16) char bytes[16] = {};
    number_bytes(g.numbers[k], parameters, bytes);
    std::memcpy(&numbers[k], bytes, sizeof numbers[k]);
  }
}

std::vector<std::string> group_macros(const Group& g, const std::vector<Loaded>& how) {
  std::vector<std::string> m = {str("LOADS=", g.loads.size()), str("STORES=", g.stores.size()),
      str("NUMBERS=", g.numbers.size()), str("NODES=", g.nodes.size())};
  for (size_t k = 0; k < g.loads.size(); ++k) {
    m.push_back(str("T_I", k, "=", cuda::element_type(g.loads[k].ref.dtype)));
    m.push_back(str("C_I", k, "=", cuda::compute_type(g.loads[k].as)));
    m.push_back(str("K_I", k, "=", int(how[k])));
  }
  for (size_t k = 0; k < g.numbers.size(); ++k) m.push_back(str("C_N", k, "=", cuda::compute_type(g.numbers[k].in)));
  put_nodes(g, m);
  const char* rough = nullptr;  // where all results are narrow, cheaper functions do
  for (size_t k = 0; k < g.stores.size(); ++k) {
    const char* type = cuda::element_type(g.stores[k].ref.dtype);
    m.push_back(str("T_O", k, "=", type));
    m.push_back(str("V_O", k, "=", operand_name(g.stores[k].value)));
    const bool narrow = g.stores[k].ref.dtype == DType::bf16 || g.stores[k].ref.dtype == DType::f16;
    rough = narrow && (k == 0 || rough) ? type : nullptr;
  }
  m.push_back(str("T0=", rough ? rough : "float"));
  return m;
}

}  // namespace shim::program
