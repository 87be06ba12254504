#pragma once
// A file of machine code that was compiled before: `make kernels` writes it, a wheel brings it, and it is read in place.
//
// Everything is little-endian. A head of 64 bytes: "SHIMPACK", version (u32), number of entries (u32), digest of cuda/kernels (u64), size
// of the file (u64), checksum of the entries (u64), 24 bytes of zeros. Then the entries, ordered by their keys, which are those of
// the cache on disk: key (2 x u64), offset and size of the code, its checksum (u64 each), architecture (u32), four bytes of
// zeros. Then the code, each piece at a multiple of 64.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/specialisation.h"

namespace shim::cuda {

struct PackEntry {
  KeyDigest key;
  uint64_t offset, size, checksum;
  uint32_t architecture, none;
};

class KernelPack {
 public:
  // Maps the file. Not open where `why` says what is wrong with it; a name of nothing is no pack, and nothing is wrong.
  explicit KernelPack(const std::string& path);
  ~KernelPack();
  KernelPack(const KernelPack&) = delete;
  KernelPack& operator=(const KernelPack&) = delete;

  bool open() const { return base_ != nullptr; }
  const std::string& why() const { return why_; }
  const std::map<int, int>& architectures() const { return architectures_; }  // to the numbers of their entries
  // The code for this architecture, or for an earlier one that runs there. Empty where there is none, or it is damaged.
  std::string_view find(const Specialisation&, int architecture) const;

 private:
  std::string check() const;
  std::string_view find_exact(const Specialisation&, int architecture) const;

  const char* base_ = nullptr;
  size_t size_ = 0, count_ = 0;
  const PackEntry* entries_ = nullptr;
  std::map<int, int> architectures_;
  std::string why_;
};

struct PackedCode {
  Specialisation what;
  int architecture;
  std::string code;
};
// Writes a pack in full under another name, then renames it. What went wrong, or nothing.
std::string write_pack(const std::string& path, const std::vector<PackedCode>&);

}  // namespace shim::cuda
