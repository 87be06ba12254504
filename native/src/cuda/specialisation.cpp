#include "cuda/specialisation.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "core/cache_folder.h"
#include "cuda/kernel_files.h"

namespace shim::cuda {
namespace {

bool is_macro(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '=' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text[0] >= 'A' && text[0] <= 'Z' && std::ranges::all_of(text, plain);
}

// A program's source is long, and asked of for each of its specialisations.
const std::string& source_digest(const std::string& program) {
  static std::mutex lock;
  static auto* known = new std::map<std::string, std::string>;
  std::lock_guard<std::mutex> guard(lock);
  std::string& text = (*known)[program];
  if (text.empty()) {
    const char* source = kernel_program(program);
    const KeyDigest d = digest_of(source ? source : "");
    text = hexadecimal(d.words[0]) + hexadecimal(d.words[1]);
  }
  return text;
}

}  // namespace

std::string Specialisation::text() const {
  std::string line = program;
  for (const std::string& m : macros) (line += ' ') += m;
  return line;
}

Specialisation Specialisation::of(std::string_view program, const std::vector<std::string>& macros) {
  Specialisation s{std::string(program), {}};
  for (const std::string& m : macros) s.macros.push_back(m.starts_with("-D") ? m.substr(2) : m);
  return s;
}

Specialisation Specialisation::parse(std::string_view line) {
  Specialisation s;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    if (s.program.empty())
      s.program = word;
    else if (is_macro(word))
      s.macros.emplace_back(word);
    else
      return {};
  }
  if (!kernel_program(s.program)) return {};
  return s;
}

bool Specialisation::for_hopper() const { return std::ranges::find(macros, "HOPPER=1") != macros.end(); }

std::string code_key(const Specialisation& s, int architecture) {
  return source_digest(s.program) + " sm_" + std::to_string(architecture) + " " + s.text();
}

KeyDigest digest_of(std::string_view key) {
  const uint64_t first = digest(key);
  return {{first, digest(key, ~first ^ key.size())}};
}

uint64_t sources_digest() {
  static const uint64_t all = [] {
    uint64_t h = digest("");
    for (size_t i = 0; i < kernel_file_count; ++i)
      h = digest(std::string_view(kernel_files[i].text), digest(std::string_view(kernel_files[i].name), h) ^ 1);
    return h;
  }();
  return all;
}

std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace shim::cuda
