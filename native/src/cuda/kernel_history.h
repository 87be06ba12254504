#pragma once
// Which kernels programs ask for one after the other: of the table that comes with the package, and of this user's former runs.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shim::cuda {

class KernelHistory {
 public:
  // Lines "SPECIALISATION<tab>WORKLOAD:NUMBER WORKLOAD:NUMBER"; a line that begins with # is none.
  void read_table(std::string_view text);
  // Lines "DIGEST SPECIALISATION": it was asked for after the one with this digest. What is no line is left out.
  void read_runs(std::string_view text);
  // Whether it was not known that `next` comes after `previous` (empty: at the start).
  bool add(const std::string& previous, const std::string& next);
  static std::string line(const std::string& previous, const std::string& next);  // for read_runs
  // At most so many that came after it, the nearest first.
  std::vector<std::string> after(const std::string& text, size_t most) const;

 private:
  size_t number_of(std::string_view text);

  std::vector<std::string> texts_ = {""};
  std::vector<std::vector<size_t>> next_ = {{}};
  std::unordered_map<std::string, size_t> numbers_ = {{"", 0}};
};

}  // namespace shim::cuda
