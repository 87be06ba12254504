#include "cuda/kernel_pack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/cache_folder.h"

namespace shim::cuda {
namespace {

static_assert(std::endian::native == std::endian::little, "a pack is read in place");
constexpr char kMagic[] = "SHIMPACK";
constexpr uint32_t kVersion = 1;
constexpr size_t kAlignment = 64;

struct Head {
  char magic[8];
  uint32_t version, count;
  uint64_t sources, size, checksum, none[3];
};
static_assert(sizeof(Head) == 64);

static_assert(sizeof(PackEntry) == 48);

size_t aligned(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

KernelPack::KernelPack(const std::string& path) {
  if (path.empty()) return;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat s{};
  if (file < 0 || ::fstat(file, &s) != 0) {
    why_ = std::strerror(errno);
  } else if (!S_ISREG(s.st_mode) || size_t(s.st_size) < sizeof(Head)) {
    why_ = "it is too short";
  } else {
    size_ = size_t(s.st_size);
    void* base = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    base == MAP_FAILED ? why_ = std::strerror(errno) : (base_ = static_cast<const char*>(base), why_ = check());
  }
  if (file >= 0) ::close(file);
  if (!base_) return;
  Head head;
  std::memcpy(&head, base_, sizeof head);
  if (why_.empty()) {
    count_ = head.count;
    entries_ = reinterpret_cast<const PackEntry*>(base_ + sizeof(Head));
    for (size_t i = 0; i < count_; ++i) ++architectures_[int(entries_[i].architecture)];
  } else {
    ::munmap(const_cast<char*>(base_), size_);
    base_ = nullptr;
  }
}

KernelPack::~KernelPack() {
  if (base_) ::munmap(const_cast<char*>(base_), size_);
}

// All but the code itself, whose checksums are looked at when it is asked for.
std::string KernelPack::check() const {
  Head head;
  std::memcpy(&head, base_, sizeof head);
  if (std::memcmp(head.magic, kMagic, sizeof head.magic) != 0) return "it is no pack of kernels";
  if (head.version != kVersion) return "its version is " + std::to_string(head.version);
  if (head.sources != sources_digest()) return "it was made from other sources than this version's";
  if (head.size != size_ || head.count > (size_ - sizeof head) / sizeof(PackEntry))
    return "it is damaged: its size is not its own";
  const size_t begin = sizeof head + head.count * sizeof(PackEntry);
  if (digest({base_ + sizeof head, head.count * sizeof(PackEntry)}) != head.checksum)
    return "it is damaged: its index was changed";
  const auto* entries = reinterpret_cast<const PackEntry*>(base_ + sizeof head);
  for (size_t i = 0; i < head.count; ++i) {
    const PackEntry& e = entries[i];
    if (e.offset < begin || e.offset > size_ || e.size > size_ - e.offset || (i && !(entries[i - 1].key < e.key)))
      return "it is damaged: its index is out of bounds";
  }
  return {};
}

std::string_view KernelPack::find_exact(const Specialisation& s, int architecture) const {
  const KeyDigest key = digest_of(code_key(s, architecture));
  const PackEntry *end = entries_ + count_, *e = std::lower_bound(entries_, end, key,
                                                [](const PackEntry& a, const KeyDigest& b) { return a.key < b; });
  if (e == end || e->key != key) return {};
  const std::string_view code(base_ + e->offset, e->size);
  return digest(code, key.words[1]) == e->checksum ? code : std::string_view();
}

std::string_view KernelPack::find(const Specialisation& s, int architecture) const {
  if (!base_) return {};
  if (const std::string_view code = find_exact(s, architecture); !code.empty()) return code;
  // Code runs on later architectures of its generation, but what names Hopper's own instructions.
  for (auto it = architectures_.rbegin(); it != architectures_.rend() && !s.for_hopper(); ++it)
    if (it->first < architecture && it->first / 10 == architecture / 10)
      if (const std::string_view code = find_exact(s, it->first); !code.empty()) return code;
  return {};
}

std::string write_pack(const std::string& path, const std::vector<PackedCode>& all) {
  std::map<KeyDigest, const PackedCode*> sorted;
  for (const PackedCode& p : all) sorted[digest_of(code_key(p.what, p.architecture))] = &p;
  std::string index, codes;
  const size_t begin = aligned(sizeof(Head) + sorted.size() * sizeof(PackEntry));
  for (const auto& [key, packed] : sorted) {
    codes.resize(aligned(codes.size()));
    const PackEntry e{key, begin + codes.size(), packed->code.size(), digest(packed->code, key.words[1]),
        uint32_t(packed->architecture), 0};
    index.append(reinterpret_cast<const char*>(&e), sizeof e);
    codes += packed->code;
  }
  Head head{{}, kVersion, uint32_t(sorted.size()), sources_digest(), begin + codes.size(), digest(index), {}};
  std::memcpy(head.magic, kMagic, sizeof head.magic);
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  (bytes += index).resize(begin);
  const std::string own = path + "." + std::to_string(::getpid()) + ".tmp";
  FILE* file = std::fopen(own.c_str(), "wb");
  if (!file) return own + ": " + std::strerror(errno);
  bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
               std::fwrite(codes.data(), 1, codes.size(), file) == codes.size();
  whole = std::fclose(file) == 0 && whole;
  if (whole && std::rename(own.c_str(), path.c_str()) == 0) return {};
  const std::string why = path + ": " + std::strerror(errno);
  std::remove(own.c_str());
  return why;
}

}  // namespace shim::cuda
