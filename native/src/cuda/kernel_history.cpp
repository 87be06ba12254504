#include "cuda/kernel_history.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/cache_folder.h"
#include "cuda/specialisation.h"

namespace shim::cuda {
namespace {

constexpr size_t kDigits = 16;

std::string_view cut(std::string_view& text, char at) {  // takes what is before `at` away
  const std::string_view part = text.substr(0, text.find(at));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

std::string name_of(const std::string& text) { return hexadecimal(digest(text)); }

}  // namespace

size_t KernelHistory::number_of(std::string_view text) {
  const auto [it, fresh] = numbers_.try_emplace(std::string(text), texts_.size());
  if (fresh) {
    texts_.emplace_back(text);
    next_.emplace_back();
  }
  return it->second;
}

bool KernelHistory::add(const std::string& previous, const std::string& next) {
  const size_t from = number_of(previous), to = number_of(next);
  if (std::ranges::find(next_[from], to) != next_[from].end()) return false;
  next_[from].push_back(to);
  return true;
}

std::string KernelHistory::line(const std::string& previous, const std::string& next) {
  return name_of(previous) + " " + next + "\n";
}

void KernelHistory::read_table(std::string_view text) {
  std::map<std::string, std::multimap<long, std::string>> workloads;  // one place: of different architectures
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    const std::string_view what = cut(line, '\t');
    if (what.empty() || what[0] == '#' || Specialisation::parse(what).program.empty()) continue;
    while (!line.empty()) {
      std::string_view place = cut(line, ' ');
      const std::string workload(cut(place, ':'));
      workloads[workload].emplace(std::strtol(std::string(place).c_str(), nullptr, 10), what);
    }
  }
  for (const auto& [workload, order] : workloads) {
    std::string previous;
    for (const auto& [place, what] : order) {
      add(previous, what);
      previous = what;
    }
  }
}

void KernelHistory::read_runs(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string>> pairs;
  std::unordered_map<std::string, std::string> named = {{name_of(""), ""}};
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    const std::string_view previous = cut(line, ' ');
    if (previous.size() != kDigits || Specialisation::parse(line).program.empty()) continue;
    pairs.emplace_back(previous, line);
    named.try_emplace(name_of(pairs.back().second), line);
  }
  for (const auto& [previous, next] : pairs)
    if (const auto found = named.find(std::string(previous)); found != named.end()) add(found->second, next);
}

std::vector<std::string> KernelHistory::after(const std::string& text, size_t most) const {
  std::vector<std::string> found;
  const auto start = numbers_.find(text);
  if (start == numbers_.end()) return found;
  std::vector<size_t> reached = {start->second};
  for (size_t i = 0; i < reached.size() && found.size() < most; ++i)
    for (size_t next : next_[reached[i]]) {
      if (found.size() == most || std::ranges::find(reached, next) != reached.end()) continue;
      reached.push_back(next);
      found.push_back(texts_[next]);
    }
  return found;
}

}  // namespace shim::cuda
