// What libraries register while they load: definitions and kernels, by name, in any order, from any thread.
// The interpreter takes the news over when it next looks into the operator table (take_news); C++ calls between compiled
// operators use this table directly. Nothing here is ever destroyed: libraries unregister from static destructors.
#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "abi/abi.h"

namespace shim::abi {
namespace {

struct Entry {
  std::optional<Schema> schema;
  std::vector<std::pair<std::string, Kernel>> kernels;  // by dispatch key; "" is the catch-all
  bool python = false;                                  // a kernel was registered from Python
};

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::string, Entry> entries;  // "ns::name.overload"
  News news;
  std::atomic<bool> fresh{false};
};

Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

std::string full(const std::string& qualified, const std::string& overload) { return qualified + "." + overload; }

struct Library {
  enum Kind { def, fragment, impl } kind;
  std::string ns, key, file;
  uint32_t line;
};

Err make_library(
    Library::Kind kind, const char* ns, const char* key, const char* file, uint32_t line, Library** result) {
  return caught([&] {
    CHECK(Kind::Runtime, ns, "a library without a namespace");
    *result = new Library{kind, ns, key ? key : "", file ? file : "", line};
  });
}

// A failure here would end the process: the extension throws out of a static initialiser. A schema that cannot be read
// is kept as a problem, which load_library reports.
Err define(Library* library, const char* text, const int32_t* tags, int32_t count) {
  return caught([&] {
    CHECK(Kind::Runtime, library && text, "a definition without library or schema");
    Registry& r = registry();
    try {
      Schema s = parse_schema(text);
      if (std::string_view(text).substr(0, std::string_view(text).find('(')).find("::") == std::string_view::npos)
        s.ns = library->ns;
      std::unique_lock lock(r.mutex);
      Entry& e = r.entries[full(s.qualified(), s.overload)];
      if (e.schema) {
        if (e.schema->text() != s.text())
          r.news.problems.push_back(str("operator defined twice: ", e.schema->text(), " and, at ", library->file, ":",
              library->line, ", ", s.text()));
        r.fresh = true;
        return;
      }
      e.schema = s;
      r.news.definitions.push_back({s.ns, std::move(s), library->file, library->line, {tags, tags + count}});
    } catch (const std::exception& error) {
      std::unique_lock lock(r.mutex);
      r.news.problems.push_back(str(error.what(), " (", library->file, ":", library->line, ")"));
    }
    r.fresh = true;
  });
}

Err implement(Library* library, const char* name, Kernel kernel, uint64_t build_version) {
  return caught([&] {
    CHECK(Kind::Runtime, library && name && kernel, "an implementation without library, name or kernel");
    std::string text = name;
    const size_t space = text.find("::");
    std::string ns = library->ns;
    if (space != std::string::npos) {
      ns = text.substr(0, space);
      text = text.substr(space + 2);
    }
    const size_t dot = text.find('.');
    Implementation i{ns + "::" + text.substr(0, dot), dot == std::string::npos ? "" : text.substr(dot + 1),
        library->key, kernel, build_version};
    Registry& r = registry();
    std::unique_lock lock(r.mutex);
    Entry& e = r.entries[full(i.qualified, i.overload)];
    bool replaced = false;
    for (auto& [key, k] : e.kernels)
      if (key == i.key) {
        k = kernel;
        replaced = true;
      }
    if (!replaced) e.kernels.emplace_back(i.key, kernel);
    r.news.implementations.push_back(std::move(i));
    r.fresh = true;
  });
}

DeviceType device_among(const Schema& schema, const Cell* stack) {
  DeviceType found = DeviceType::cpu;
  auto see = [&](Cell v) {
    auto h = reinterpret_cast<Handle>(v);
    if (!is_defined(h)) return;
    if (h->device().is_cuda())
      found = DeviceType::cuda;
    else if (h->device().is_meta() && found == DeviceType::cpu)
      found = DeviceType::meta;
  };
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const ArgType& t = schema.args[i].type;
    if (t.base != ArgType::Tensor) continue;
    Cell v = stack[i];
    if (t.optional) {
      if (!v) continue;
      v = *reinterpret_cast<Cell*>(v);
    }
    if (!t.list) {
      see(v);
      continue;
    }
    for (Cell element : *reinterpret_cast<List*>(v)) {
      if (!t.element_optional)
        see(element);
      else if (element)
        see(*reinterpret_cast<Cell*>(element));
    }
  }
  return found;
}

Kernel pick(const Entry& e, const char* backend) {
  for (const char* wanted : {backend, "CompositeExplicitAutograd", "CompositeImplicitAutograd", "", "BackendSelect"})
    for (auto& [key, kernel] : e.kernels)
      if (key == wanted) return kernel;
  return nullptr;
}

}  // namespace

bool any_news() noexcept { return registry().fresh.load(std::memory_order_acquire); }

News take_news() {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.fresh = false;
  return std::exchange(r.news, {});
}

void note_python_kernel(const std::string& qualified, const std::string& overload) {
  Registry& r = registry();
  std::unique_lock lock(r.mutex);
  r.entries[full(qualified, overload)].python = true;
}

bool call_compiled(const std::string& qualified, const std::string& overload, Cell* stack) {
  Registry& r = registry();
  Kernel kernel;
  size_t args, returns;
  {
    std::shared_lock lock(r.mutex);
    auto it = r.entries.find(full(qualified, overload));
    if (it == r.entries.end() || it->second.python || !it->second.schema) return false;
    const Schema& s = *it->second.schema;
    const DeviceType device = device_among(s, stack);
    if (device == DeviceType::meta) return false;  // fakes are registered from Python
    kernel = pick(it->second, device == DeviceType::cuda ? "CUDA" : "CPU");
    args = s.args.size();
    returns = s.returns.size();
  }
  if (!kernel) return false;
  kernel(stack, args, returns);
  return true;
}

}  // namespace shim::abi

using namespace shim;
using namespace shim::abi;

SHIM_EXPORT Err aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, Library** result) {
  return make_library(Library::def, ns, "", file, line, result);
}
SHIM_EXPORT Err aoti_torch_library_init_fragment(const char* ns, const char* file, uint32_t line, Library** result) {
  return make_library(Library::fragment, ns, "", file, line, result);
}
SHIM_EXPORT Err aoti_torch_library_init_impl(
    const char* ns, const char* key, const char* file, uint32_t line, Library** result) {
  return make_library(Library::impl, ns, key, file, line, result);
}
SHIM_EXPORT Err aoti_torch_library_def(Library* library, const char* schema) {
  return define(library, schema, nullptr, 0);
}
SHIM_EXPORT Err torch_library_def_with_tags(Library* library, const char* schema, const int32_t* tags, int32_t count) {
  return define(library, schema, tags, count);
}
SHIM_EXPORT Err aoti_torch_library_impl(Library* library, const char* name, Kernel kernel) {
  return implement(library, name, kernel, 0);
}
SHIM_EXPORT Err torch_library_impl(Library* library, const char* name, Kernel kernel, uint64_t build_version) {
  return implement(library, name, kernel, build_version);
}
// PyTorch remembers which Python module holds the fakes, to name it in an error. Here nothing depends on it.
SHIM_EXPORT Err torch_library_set_python_module(Library*, const char*, const char*) { return 0; }
SHIM_EXPORT Err aoti_torch_delete_library_object(Library* library) {
  delete library;  // what it registered stays: its kernels may run until the process ends
  return 0;
}
