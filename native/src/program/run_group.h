#pragma once
// Groups as they run.
#include "core/few.h"
#include "cpu/row_scalar.h"
#include "program/node_places.h"

namespace shim::program {

// A number as kernels get it: at most 16 bytes.
void number_bytes(const Number&, std::span<const Scalar> parameters, char* bytes);

// Where a group on the CPU finds what it takes, and its numbers as kernels get them.
struct CpuOperands {
  struct alignas(16) Bytes {
    char bytes[16];
  };
  Few<char*, kMostLoads> loads;
  Few<char*, kMostStores> stores;
  Few<Bytes, 8> numbers;
  CpuOperands(const Group&, Storages, std::span<const Scalar> parameters);
};

// A group's loops over blocks of elements that stay in the processor's cache: each operator is its vector loop over a block.
class CpuGroup : NodePlaces {
 public:
  explicit CpuGroup(const Group&);
  void run(const Group&, Storages, std::span<const Scalar> parameters) const;

 private:
  friend struct BlockRun;
  bool read_later(const Group&, const TensorRef&, size_t node) const;
  struct Move {                  // of a load or store
    std::vector<int64_t> steps;  // bytes along the nest's dims, innermost first
    const Conversion* conversion;
    int64_t size;           // of an element in memory
    bool packed = false;    // the elements lie in the nest's order
    bool one = false;       // one element for all
    bool as_it_is = false;  // of the dtype that is computed in
  };
  std::vector<int64_t> sizes_;  // of the nest, innermost first
  std::vector<Move> loads_, stores_;
  int64_t block_ = 0;  // elements
};

// A group that reduces rows: a few are computed whole, while they stay in the processor's cache.
class CpuRows : NodePlaces {
 public:
  explicit CpuRows(const Group&);
  void run(const Group&, Storages, std::span<const Scalar> parameters) const;

 private:
  friend struct RowRun;
  struct Move {                  // of a load or store
    std::vector<int64_t> steps;  // bytes along the dims but the last
    int64_t step = 0, size = 0;  // along the last; of an element in memory
    const Conversion* conversion = nullptr;
    bool of_row = false, packed = false,
         as_it_is = false;  // one element a row; one row behind the other; not converted
    bool same = false;      // for all rows
    int spread = -1;        // the buffer of one element a row that others take for each of its elements
  };
  Dims outer_;
  int64_t rows_, columns_;
  std::vector<Move> loads_, stores_;
  std::vector<int> spread_;  // the same, of nodes
  struct WithNumber {
    RowScalar loop = nullptr;
    int number = 0;  // which operand has one element a row
  };
  std::vector<WithNumber> with_number_;  // of nodes
  int spreads_ = 0;
  int64_t at_once_ = 1;
};

}  // namespace shim::program
