#pragma once
// What tells compiled programs apart: a file of cuda/kernels and the macros that it is compiled with.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shim::cuda {

struct Specialisation {
  std::string program;              // of the file in cuda/kernels, without its ending
  std::vector<std::string> macros;  // "OP=sum", in the order in which the compiler gets them

  std::string text() const;  // "reduce OP=sum V=4": a line of recordings, tables and histories
  // Macros may come as the compiler's options ("-DOP=sum").
  static Specialisation of(std::string_view program, const std::vector<std::string>& macros);
  // Empty (no program) where the line is no specialisation of ours: it comes from a file.
  static Specialisation parse(std::string_view line);
  bool for_hopper() const;  // HOPPER=1: instructions that sm_90 alone has
};

// What its machine code depends on besides the compiler: the program's source, macros and architecture.
std::string code_key(const Specialisation&, int architecture);
struct KeyDigest {
  uint64_t words[2];
  auto operator<=>(const KeyDigest&) const = default;
};
KeyDigest digest_of(std::string_view key);  // as in the heads of cache entries
uint64_t sources_digest();                  // of all of cuda/kernels
std::string hexadecimal(uint64_t);          // 16 digits

}  // namespace shim::cuda
