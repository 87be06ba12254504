// From collectives to NCCL's calls.
#include <array>

#include "distributed/nccl_group.h"

namespace shim::distributed {
namespace {

using namespace nccl;

struct Elements {
  Type type;
  size_t each;  // how many to one of ours; 0: NCCL has no such type
};

Elements elements(DType t) {
  switch (t) {
    case DType::b8:
    case DType::u8: return {kUint8, 1};
    case DType::i8: return {kInt8, 1};
    case DType::i32: return {kInt32, 1};
    case DType::u32: return {kUint32, 1};
    case DType::i64: return {kInt64, 1};
    case DType::u64: return {kUint64, 1};
    case DType::f16: return {kFloat16, 1};
    case DType::bf16: return {kBfloat16, 1};
    case DType::f32: return {kFloat32, 1};
    case DType::f64: return {kFloat64, 1};
    case DType::c64: return {kFloat32, 2};
    case DType::c128: return {kFloat64, 2};
    default: return {kUint8, 0};
  }
}

Elements reducible(DType t) {
  const Elements e = elements(t);
  CHECK(Kind::Type, e.each, "Input tensor data type is not supported for NCCL process group: ", scalar_name(t));
  return e;
}

Elements movable(DType t) {  // copies are of bytes where NCCL has no such type
  const Elements e = elements(t);
  return e.each ? e : Elements{kUint8, itemsize(t)};
}

size_t count(const Tensor& t, Elements e) { return size_t(t->numel()) * e.each; }

Op operation(Reduce op, DType t) {
  if (t == DType::b8) {  // 0 or 1: a sum that stays one
    if (op == Reduce::sum || op == Reduce::max) return kMax;
    if (op == Reduce::product || op == Reduce::min) return kMin;
  }
  switch (op) {
    case Reduce::sum: return kSum;
    case Reduce::avg: return kAverage;
    case Reduce::product: return kProduct;
    case Reduce::min: return kMin;
    case Reduce::max: return kMax;
    default: fail(Kind::Value, "torch.distributed: NCCL has no such reduction");
  }
}

uint16_t to_half(double v) {
  const _Float16 h = static_cast<_Float16>(v);
  uint16_t bits;
  __builtin_memcpy(&bits, &h, 2);
  return bits;
}

uint16_t to_bfloat16(double v) {
  const float f = float(v);
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// An operation that exists for one call.
struct Operation {
  Operation(const DeviceCollective& w, DType t, Comm c) : comm(c) {
    if (w.op != Reduce::premul_sum) {
      op = operation(w.op, t);
      return;
    }
    CHECK(Kind::Type, t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64,
        "PREMUL_SUM Data type must be half, float, bfloat16 or double");
    double d = w.factor;
    float f = float(d);
    uint16_t half = t == DType::f16 ? to_half(d) : to_bfloat16(d);
    void* at = w.factor_at ? w.factor_at->data()
                           : (t == DType::f64      ? static_cast<void*>(&d)
                                 : t == DType::f32 ? static_cast<void*>(&f)
                                                   : &half);
    check(required().make_scaled_sum(&op, at, elements(t).type, w.factor_at ? kScalarOnDevice : kScalarOnHost, c),
        "ncclRedOpCreatePreMulSum", c);
    made = true;
  }
  ~Operation() {
    if (made) library().drop_op(op, comm);
  }
  Operation(const Operation&) = delete;
  Op op = kSum;
  Comm comm;
  bool made = false;
};

struct Together {  // calls of NCCL that are one; ended by `end`, or where something failed
  Together() { check(required().group_start(), "ncclGroupStart"); }
  ~Together() {
    if (!ended) library().group_end();
  }
  void end(const std::string& name, Comm comm) {
    ended = true;
    check(library().group_end(), name.c_str(), comm);
  }
  bool ended = false;
};

}  // namespace

void NcclGroup::issue_reduction(const DeviceCollective& w, Comm comm, cuda::CUstream stream) {
  const Library& l = required();
  const char* what = w.name.c_str();
  const DType t = w.outputs.empty() ? w.inputs[0]->dtype() : w.outputs[0]->dtype();
  const Elements e = reducible(t);
  const Operation op(w, t, comm);
  if (w.kind == Act::reduce_scatter && w.inputs.size() == 1)
    return check(l.reduce_scatter(
                     w.inputs[0]->data(), w.outputs[0]->data(), count(w.outputs[0], e), e.type, op.op, comm, stream),
        what, comm);
  Together together;
  if (w.kind == Act::reduce_scatter)  // of different sizes
    for (int rank = 0; rank < size(); ++rank) {
      const Tensor& in = w.inputs[size_t(rank)];
      void* to = rank == rank_ ? w.outputs[0]->data() : in->data();
      check(l.reduce(in->data(), to, count(in, e), e.type, op.op, rank, comm, stream), what, comm);
    }
  for (const Tensor& x : w.outputs) {
    if (w.kind == Act::all_reduce)
      check(l.all_reduce(x->data(), x->data(), count(x, e), e.type, op.op, comm, stream), what, comm);
    else if (w.kind == Act::reduce)
      check(l.reduce(x->data(), x->data(), count(x, e), e.type, op.op, w.root, comm, stream), what, comm);
  }
  together.end(w.name, comm);
}

std::vector<Piece> pieces_of(const std::vector<Tensor>& tensors, const std::vector<int64_t>& counts, int size) {
  std::vector<Piece> pieces;
  const bool whole = tensors.size() == 1 && size > 1;
  size_t at = 0;
  for (int rank = 0; rank < size; ++rank) {
    const Tensor& t = tensors[whole ? 0 : size_t(rank)];
    size_t bytes = size_t(t->numel()) * t->itemsize();
    if (whole) bytes = counts.empty() ? bytes / size_t(size) : size_t(counts[size_t(rank)]) * t->itemsize();
    pieces.push_back({static_cast<char*>(t->data()) + (whole ? at : 0), bytes});
    at += bytes;
  }
  return pieces;
}

void NcclGroup::issue_exchange(const DeviceCollective& w, Comm comm, cuda::CUstream stream, size_t longer_than) {
  const Library& l = required();
  const std::vector<Piece> sent = pieces_of(w.inputs, w.input_counts, size()),
                           received = pieces_of(w.outputs, w.output_counts, size());
  Together together;
  for (int side = 0; side < 2; ++side)
    for (int rank = 0; rank < size(); ++rank) {
      const auto& [data, bytes] = (side ? received : sent)[size_t(rank)];
      if (bytes <= longer_than) continue;
      check(side ? l.receive(data, bytes, kUint8, rank, comm, stream) : l.send(data, bytes, kUint8, rank, comm, stream),
          w.name.c_str(), comm);
    }
  together.end(w.name, comm);
}

void NcclGroup::issue_rooted(const DeviceCollective& w, Comm comm, cuda::CUstream stream) {
  const Library& l = required();
  const bool gathers = w.kind == Act::gather;
  const Tensor& mine = gathers ? w.inputs[0] : w.outputs[0];
  const Elements e = movable(mine->dtype());
  Together together;
  if (rank_ == w.root)
    for (int rank = 0; rank < size(); ++rank) {
      const Tensor& t = (gathers ? w.outputs : w.inputs)[size_t(rank)];
      check(gathers ? l.receive(t->data(), count(t, e), e.type, rank, comm, stream)
                    : l.send(t->data(), count(t, e), e.type, rank, comm, stream),
          w.name.c_str(), comm);
    }
  check(gathers ? l.send(mine->data(), count(mine, e), e.type, w.root, comm, stream)
                : l.receive(mine->data(), count(mine, e), e.type, w.root, comm, stream),
      w.name.c_str(), comm);
  together.end(w.name, comm);
}

void NcclGroup::issue(const DeviceCollective& w, Comm comm, cuda::CUstream stream) {
  const Library& l = required();
  const char* what = w.name.c_str();
  switch (w.kind) {
    case Act::all_reduce:
      if (w.outputs.size() == 1 && w.op != Reduce::premul_sum) {  // what is called most
        const Tensor& x = w.outputs[0];
        const Elements e = reducible(x->dtype());
        return check(l.all_reduce(x->data(), x->data(), count(x, e), e.type, operation(w.op, x->dtype()), comm, stream),
            what, comm);
      }
      return issue_reduction(w, comm, stream);
    case Act::reduce:
    case Act::reduce_scatter: return issue_reduction(w, comm, stream);
    case Act::all_to_all: return issue_exchange(w, comm, stream);
    case Act::gather:
    case Act::scatter: return issue_rooted(w, comm, stream);
    case Act::broadcast: {
      const Tensor& x = w.outputs[0];
      const Elements e = movable(x->dtype());
      return check(l.broadcast(x->data(), x->data(), count(x, e), e.type, w.root, comm, stream), what, comm);
    }
    case Act::all_gather: {
      const Tensor& x = w.inputs[0];
      const Elements e = movable(x->dtype());
      if (w.outputs.size() == 1 && w.outputs[0]->numel() == x->numel() * size())
        return check(l.all_gather(x->data(), w.outputs[0]->data(), count(x, e), e.type, comm, stream), what, comm);
      Together together;
      for (int rank = 0; rank < size(); ++rank) {
        const Tensor& y = w.outputs[size_t(rank)];
        check(l.broadcast(rank == rank_ ? x->data() : y->data(), y->data(), count(y, e), e.type, rank, comm, stream),
            what, comm);
      }
      return together.end(w.name, comm);
    }
    case Act::barrier: {
      const Tensor& x = w.outputs[0];
      return check(l.all_reduce(x->data(), x->data(), 1, kUint8, kMax, comm, stream), what, comm);
    }
    case Act::send: {
      const Elements e = movable(w.inputs[0]->dtype());
      return check(l.send(w.inputs[0]->data(), count(w.inputs[0], e), e.type, w.root, comm, stream), what, comm);
    }
    case Act::receive: {
      const Elements e = movable(w.outputs[0]->dtype());
      return check(l.receive(w.outputs[0]->data(), count(w.outputs[0], e), e.type, w.root, comm, stream), what, comm);
    }
  }
}

}  // namespace shim::distributed
