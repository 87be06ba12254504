// The simulated cuBLASLt's product: three loops in double, its epilogues, and the sums that go with gradients.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cublaslt_types.h"

namespace {

double decode8(uint8_t v, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, e = (v >> mantissa_bits) & ((1 << exponent_bits) - 1),
            m = v & ((1 << mantissa_bits) - 1);
  const double f =
      e ? std::ldexp(1 + double(m) / (1 << mantissa_bits), e - bias) : std::ldexp(double(m), 1 - bias - mantissa_bits);
  return v & 0x80 ? -f : f;
}

double load(const void* p, int type, int64_t i) {
  switch (type) {
    case 0: return static_cast<const float*>(p)[i];
    case 1: return static_cast<const double*>(p)[i];
    case 2: {
      _Float16 h;
      std::memcpy(&h, static_cast<const uint16_t*>(p) + i, 2);
      return double(h);
    }
    case 14: {
      uint32_t u = uint32_t(static_cast<const uint16_t*>(p)[i]) << 16;
      float f;
      std::memcpy(&f, &u, 4);
      return f;
    }
    case 28: return decode8(static_cast<const uint8_t*>(p)[i], 4, 3);
    case 29: return decode8(static_cast<const uint8_t*>(p)[i], 5, 2);
  }
  std::abort();
}

void store(void* p, int type, int64_t i, double v) {
  switch (type) {
    case 0: static_cast<float*>(p)[i] = float(v); return;
    case 1: static_cast<double*>(p)[i] = v; return;
    case 2: {
      _Float16 h = _Float16(float(v));
      std::memcpy(static_cast<uint16_t*>(p) + i, &h, 2);
      return;
    }
    case 14: {
      float f = float(v);
      uint32_t x;
      std::memcpy(&x, &f, 4);
      static_cast<uint16_t*>(p)[i] = std::isnan(f) ? 0x7fff : uint16_t((x + 0x7fff + ((x >> 16) & 1)) >> 16);
      return;
    }
  }
  std::abort();
}

int64_t item_size(int type) { return type == 1 ? 8 : type == 0 ? 4 : type == 28 || type == 29 ? 1 : 2; }

double scalar(const void* p, int scale_type) { return load(p, scale_type, 0); }

double gelu(double z) { return 0.5 * z * (1 + std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z))); }

double gelu_slope(double z) {
  const double t = std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z));
  return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * z * z);
}

struct Problem {  // a kernel's parameter, the descriptor's pointers in it
  Desc desc;
  Layout a, b, c;
  double alpha, beta;
};
struct Operands {
  const void *a, *b;
  void* d;
};

void product(const Problem& p, const Operands& at, void* workspace) {
  const Desc* d = &p.desc;
  const Layout *a = &p.a, *b = &p.b, *c = &p.c;
  const int64_t m = int64_t(c->rows), n = int64_t(c->cols), k = int64_t(d->trans_a ? a->rows : a->cols);
  for (int i = 0; c->type == 14 && i < 64; ++i)
    if (static_cast<unsigned char*>(workspace)[i]) std::abort();
  std::memset(workspace, 0x5a, 4096);
  for (int64_t z = 0; z < c->batch; ++z) {
    const char* A = static_cast<const char*>(at.a) + z * a->stride * item_size(a->type);
    const char* B = static_cast<const char*>(at.b) + z * b->stride * item_size(b->type);
    char* D = static_cast<char*>(at.d) + z * c->stride * item_size(c->type);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (int64_t q = 0; q < k; ++q)
          sum += load(A, a->type, d->trans_a ? q + i * a->ld : i + q * a->ld) *
                 load(B, b->type, d->trans_b ? j + q * b->ld : q + j * b->ld);
        if (d->scale_a) sum *= d->a_mode == 3 ? d->scale_a[i] : d->scale_a[0];
        if (d->scale_b) sum *= d->b_mode == 3 ? d->scale_b[j] : d->scale_b[0];
        double v = p.alpha * sum + (p.beta != 0 ? p.beta * load(D, c->type, i + j * c->ld) : 0);
        if (d->epilogue & 4) v += load(d->bias, d->bias_type >= 0 ? d->bias_type : c->type, i);
        if (d->epilogue & 64)
          v *= gelu_slope(load(d->aux, c->type, i + j * d->aux_ld));
        else if (d->epilogue & 128)
          store(d->aux, c->type, i + j * d->aux_ld, v);
        if (d->epilogue & 2) v = v <= 0 ? 0 : v;
        if (d->epilogue & 32) v = gelu(v);
        store(D, c->type, i + j * c->ld, v);
      }
  }
}

// The sums of a gradient's columns (208).
void result_sums(const Problem& p, const Operands& at) {
  for (int64_t i = 0; i < int64_t(p.c.rows); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < int64_t(p.c.cols); ++j) sum += load(at.d, p.c.type, i + j * p.c.ld);
    store(p.desc.bias, p.c.type, i, sum);
  }
}

// The sums over k of an operand that go with gradients, A's rows (256) or B's columns (512).
void sums(const Problem& p, const Operands& at) {
  const bool first = p.desc.epilogue == 256;
  const Layout& from = first ? p.a : p.b;
  const int64_t count = int64_t(first ? p.c.rows : p.c.cols), k = int64_t(from.cols);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t q = 0; q < k; ++q) sum += load(first ? at.a : at.b, from.type, i + q * from.ld);
    store(p.desc.bias, p.c.type, i, sum);
  }
}

}  // namespace
