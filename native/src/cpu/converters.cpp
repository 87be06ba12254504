// Conversions of elements: a few loops, and for every pair of dtypes the way that leads through them.
#include <algorithm>
#include <bit>
#include <iterator>

#include "cpu/conversion_loops.h"
#include "cpu/kernel_table.h"
#include "cpu/types.h"

namespace shim {

namespace {

// --- the ways ------------------------------------------------------------------------------------------------------------------

bool narrow_float(DType t) { return is_floating(t) && t != DType::f32 && t != DType::f64; }

// Where no loop leads from one to the other: the dtype to go to first. Values stay cast_element's: what is on the way holds them
// exactly, or cast_element itself passes by it.
DType by_way_of(DType from, DType to) {
  if (from == DType::c32 || (to == DType::c32 && is_complex(from))) return DType::c64;
  if (narrow_float(from)) return DType::f32;
  if (to == DType::c32) return from == DType::f32 ? DType::c64 : DType::f32;
  if (is_complex(from)) return to_real(from);
  if (narrow_float(to)) return DType::f32;
  if (is_complex(to)) return to_real(to);
  if (from == DType::b8) return DType::u8;
  if (is_integral(from)) return from == DType::u32 ? DType::i64 : DType::i32;
  return to == DType::u8 || to == DType::u32 ? DType::i64 : DType::i32;  // the smaller integers wrap around
}

Packed direct(DType from, DType to) {
  if (is_integral(from) && is_integral(to)) return between_integers(itemsize(from), is_signed(from), itemsize(to));
  return is_integral(from) && to == DType::b8 ? to_bool(itemsize(from)) : loop(from, to);
}

Conversion way(DType from, DType to) {
  Conversion c{};
  c.sizes[0] = uint8_t(itemsize(from));
  if (from == to || (is_integral(from) && is_integral(to) && itemsize(from) == itemsize(to))) {
    c.sizes[1] = c.sizes[0];
    return c;
  }
  while (from != to) {
    DType on = to;
    Packed step;
    while (!(step = direct(from, on))) on = by_way_of(from, on);
    c.steps[c.count++] = step;
    c.sizes[c.count] = uint8_t(itemsize(on));
    from = on;
  }
  return c;
}

}  // namespace

void Conversion::packed(const char* from, char* to, int64_t n) const {
  if (count == 1) return steps[0](from, to, n);
  alignas(64) char between[2][16 * kBlock];  // a block passes all its steps in the nearest cache
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    const char* x = from + i * sizes[0];
    for (int k = 0; k < count; ++k) {
      char* y = k == count - 1 ? to + i * sizes[count] : between[k % 2];
      steps[k](x, y, m);
      x = y;
    }
  }
}

void Conversion::operator()(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t n) const {
  const int64_t from_size = sizes[0], to_size = sizes[count ? count : 1];
  if (!count) return mover(size_t(from_size))(from, from_step, to, to_step, n);
  if (from_step == from_size && to_step == to_size) return packed(from, to, n);
  alignas(64) char before[16 * kBlock], after[16 * kBlock];
  if (from_step == 0 && n > 1) {
    packed(from, after, 1);
    return mover(size_t(to_size))(after, 0, to, to_step, n);
  }
  if (n < 8) {  // too few to be gathered first
    for (int64_t i = 0; i < n; ++i) packed(from + i * from_step, to + i * to_step, 1);
    return;
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    const char* source = from + i * from_step;
    if (from_step != from_size) mover(size_t(from_size))(source, from_step, before, from_size, m), source = before;
    if (to_step == to_size) {
      packed(source, to + i * to_step, m);
    } else {
      packed(source, after, m);
      mover(size_t(to_size))(after, to_size, to + i * to_step, to_step, m);
    }
  }
}

// --- the table ----------------------------------------------------------------------------------------------------------------

const Conversion* converter(DType from, DType to) {
  using D = DType;
  static constexpr DType kConverted[] = {D::b8, D::u8, D::i8, D::i16, D::u16, D::i32, D::u32, D::i64, D::u64, D::f16,
      D::bf16, D::f32, D::f64, D::c32, D::c64, D::c128, D::f8e4m3fn, D::f8e5m2, D::f8e4m3fnuz, D::f8e5m2fnuz,
      D::f8e8m0fnu};
  constexpr size_t kCount = std::size(kConverted);
  struct Table {
    int8_t at[kDTypeSlots];                    // of a dtype in kConverted; negative: not there
    Conversion all[kCount][kCount], moves[5];  // moves: of 1, 2, 4, 8 and 16 bytes
  };
  static const Table table = [] {
    Table t{};
    std::fill(std::begin(t.at), std::end(t.at), int8_t(-1));
    for (size_t i = 0; i < kCount; ++i) {
      t.at[size_t(kConverted[i])] = int8_t(i);
      for (size_t j = 0; j < kCount; ++j) t.all[i][j] = way(kConverted[i], kConverted[j]);
    }
    for (size_t i = 0; i < 5; ++i) t.moves[i].sizes[0] = t.moves[i].sizes[1] = uint8_t(1 << i);
    return t;
  }();
  if (from != D::undefined && to != D::undefined) {
    const int i = table.at[size_t(from)], j = table.at[size_t(to)];
    if (i >= 0 && j >= 0) return &table.all[i][j];
    // Bare bits, pairs of float4 and integers of 1 to 7 bits: bytes are copied.
    if (from == to) return &table.moves[std::countr_zero(itemsize(from))];
  }
  fail(Kind::NotImplemented, "\"copy_\" not implemented for '", scalar_name(to == D::f4e2m1fn_x2 ? to : from), "'");
}

}  // namespace shim
