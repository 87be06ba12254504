// Sizes and strides: what shapes broadcast to, are inferred from and take in memory.
#include <algorithm>
#include <numeric>

#include "core/dense.h"
#include "core/extent.h"
#include "core/large_blocks.h"
#include "core/order.h"
#include "core/tensor.h"

namespace shim {

std::string bracketed(IntArrayRef d) {
  std::string s = "[";
  for (size_t i = 0; i < d.size(); ++i) s += (i ? ", " : "") + std::to_string(d[i]);
  return s + "]";
}

int64_t product(IntArrayRef d) {
  int64_t p = 1;
  for (int64_t n : d) CHECK(Kind::Runtime, !__builtin_mul_overflow(p, n, &p), "numel: integer multiplication overflow");
  return p;
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    const bool overflow = __builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step) && i > 0;
    CHECK(Kind::Runtime, !overflow, "Stride calculation overflowed");
  }
  return strides;
}

Dims dense_strides(IntArrayRef sizes, std::span<const Dims> operands) {
  const int n = int(sizes.size());
  std::vector<int> order(sizes.size());  // innermost first
  for (int d = 0; d < n; ++d) order[size_t(d)] = n - 1 - d;
  auto compare = [&](int a, int b) {  // 1: b belongs further in than a; -1: it does not; 0: no operand tells
    for (const Dims& strides : operands) {
      const int64_t x = strides[size_t(a)], y = strides[size_t(b)];
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (sizes[size_t(a)] > sizes[size_t(b)]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; ++i)
    for (int moved = i, at = i - 1; at >= 0; --at) {
      const int c = compare(order[size_t(at)], order[size_t(moved)]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[size_t(at)], order[size_t(moved)]);
        moved = at;
      }
    }
  Dims strides(sizes.size());
  int64_t step = 1;
  for (int d : order) {
    strides[size_t(d)] = step;
    step *= std::max<int64_t>(sizes[size_t(d)], 1);
  }
  return strides;
}

Dims channels_last_strides(IntArrayRef sizes) {
  CHECK(Kind::Runtime, sizes.size() == 4 || sizes.size() == 5, "required rank 4 tensor to use channels_last format");
  Dims strides(sizes.size());
  int64_t step = 1;
  auto put = [&](size_t d) {
    strides[d] = step;
    step *= std::max<int64_t>(sizes[d], 1);
  };
  put(1);
  for (size_t d = sizes.size() - 1; d >= 2; --d) put(d);
  put(0);
  return strides;
}

size_t storage_bytes(IntArrayRef sizes, IntArrayRef strides, size_t itemsize) {
  int64_t last = 0, step = 0, bytes = 0;
  bool overflow = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    overflow |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) || __builtin_add_overflow(last, step, &last);
  }
  overflow |= last < 0 || __builtin_mul_overflow(last + 1, int64_t(itemsize), &bytes);
  CHECK(Kind::Runtime, !overflow, "Storage size calculation overflowed with sizes=", bracketed(sizes),
      " and strides=", bracketed(strides));
  return size_t(bytes);
}

bool fills_storage(IntArrayRef sizes, IntArrayRef strides, size_t itemsize, size_t nbytes) {
  return size_t(product(sizes)) * itemsize == nbytes && storage_bytes(sizes, strides, itemsize) == nbytes;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  int64_t span = std::max<int64_t>(ndim, 1);
  CHECK(Kind::Index, dim >= -span && dim < span, "Dimension out of range (expected to be in range of [", -span, ", ",
      span - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + span : dim;
}

Dims broadcast_shapes(IntArrayRef a, IntArrayRef b) {
  size_t n = std::max(a.size(), b.size());
  Dims out(n);
  for (size_t i = n; i-- > 0;) {  // from the last, which an error names first
    int64_t x = i < n - a.size() ? 1 : a[i - (n - a.size())], y = i < n - b.size() ? 1 : b[i - (n - b.size())];
    CHECK(Kind::Runtime, x == y || x == 1 || y == 1, "The size of tensor a (", x, ") must match the size of tensor b (",
        y, ") at non-singleton dimension ", i);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Dims infer_size(IntArrayRef shape, int64_t numel) {
  Dims out(shape.begin(), shape.end());
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      CHECK(Kind::Runtime, unknown < 0, "only one dimension can be inferred");
      unknown = int64_t(i);
    } else {
      CHECK(Kind::Runtime, out[i] >= 0, "invalid shape dimension ", out[i], " at index ", i, " of shape ",
          bracketed(shape));
      (void)__builtin_mul_overflow(
          known, out[i], &known);  // what wraps around fits no tensor: seen where its geometry is set
    }
  }
  if (unknown < 0) {
    CHECK(Kind::Runtime, known == numel, "shape '", bracketed(shape), "' is invalid for input of size ", numel);
    return out;
  }
  CHECK(Kind::Runtime, known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", bracketed(shape),
      " because the unspecified dimension size -1 can be any value and is ambiguous");
  CHECK(Kind::Runtime, known != 0 && numel % known == 0, "shape '", bracketed(shape), "' is invalid for input of size ",
      numel);
  out[size_t(unknown)] = numel / known;
  return out;
}

bool dense(const TensorImpl& t) {
  int order[kMaxDims];
  const int n = t.dim();
  std::iota(order, order + n, 0);
  sort_few(order, order + n, [&](int a, int b) { return t.strides()[a] < t.strides()[b]; });
  int64_t expected = 1;
  for (int i = 0; i < n; ++i) {
    if (t.sizes()[order[i]] == 1) continue;
    if (t.strides()[order[i]] != expected) return false;
    expected *= t.sizes()[order[i]];
  }
  return true;
}

}  // namespace shim
