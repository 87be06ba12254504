#include "cuda/kernel_files.h"

#include <map>
#include <mutex>
#include <set>

namespace shim::cuda {
namespace {

// `text` with its includes in place of their lines; `seen`: the files that are in already.
void assemble(std::string_view name, std::string_view text, std::set<std::string_view>& seen, std::string& to) {
  const auto from_line = [&](int line) { to += "#line " + std::to_string(line) + " \"" + std::string(name) + "\"\n"; };
  from_line(1);
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view now = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    constexpr std::string_view kInclude = "#include \"";
    if (now == "#pragma once") {
      to += '\n';
    } else if (!now.starts_with(kInclude)) {
      (to += now) += '\n';
    } else {
      const std::string_view wanted = now.substr(kInclude.size(), now.rfind('"') - kInclude.size());
      const char* file = kernel_file(wanted);
      if (file && seen.insert(wanted).second) assemble(wanted, file, seen, to);
      from_line(line + 1);
    }
  }
}

}  // namespace

const char* kernel_file(std::string_view name) {
  for (size_t i = 0; i < kernel_file_count; ++i)
    if (kernel_files[i].name == name) return kernel_files[i].text;
  return nullptr;
}

const char* kernel_program(std::string_view name) {
  static std::mutex lock;
  static auto* programs = new std::map<std::string, std::string, std::less<>>;
  std::lock_guard<std::mutex> guard(lock);
  if (auto it = programs->find(name); it != programs->end()) return it->second.c_str();
  const std::string path = "cuda/kernels/" + std::string(name) + ".cuh";
  const char* text = kernel_file(path);
  if (!text) return nullptr;
  std::set<std::string_view> seen{path};
  std::string program;
  assemble(path, text, seen, program);
  return programs->emplace(name, std::move(program)).first->second.c_str();
}

}  // namespace shim::cuda
