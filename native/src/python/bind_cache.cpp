// Folders of the user's own, and entries kept in them; what is said of work that takes long.
#include <map>

#include "core/cache_folder.h"
#include "core/slow_work.h"
#include "python/module_function.h"
#include "python/native_ops.h"

namespace shim {
namespace {

std::string private_folder(std::string_view path) { return PrivateFolder(std::string(path)).why(); }

std::string folder_of_cache() { return cache_folder(); }

void cache_sweep(std::string_view path) {
  if (const PrivateFolder folder{std::string(path)}; folder.open()) folder.sweep();
}

using Given = std::span<const char>;

void cache_keep(std::string_view folder, std::string_view name, Given key, Given bytes) {
  keep(std::string(folder), std::string(name), {key.data(), key.size()}, {bytes.data(), bytes.size()});
}

Bytes cache_kept(std::string_view folder, std::string_view name, Given key) {
  return {kept(std::string(folder), std::string(name), {key.data(), key.size()})};
}

std::map<int64_t, SlowWork>& works() {  // under Python's lock
  static auto* w = new std::map<int64_t, SlowWork>();
  return *w;
}

int64_t slow_work_begin(std::string_view what) {
  static int64_t count = 0;
  works().try_emplace(++count, std::string(what));
  return count;
}

void slow_work_say(int64_t number, std::string_view text) {
  if (auto it = works().find(number); it != works().end()) it->second.say(std::string(text));
}

void slow_work_end(int64_t number) { works().erase(number); }

PyMethodDef cache_functions[] = {
    function<&private_folder>("private_folder",
        "Makes a folder for this user alone, or takes others' right to write; why it cannot be used, or nothing."),
    function<&folder_of_cache>("cache_folder", "Where compiled kernels and measured choices are kept; or nothing."),
    function<&cache_sweep>("cache_sweep", "Removes from a folder what writers that were killed left in it."),
    function<&cache_keep>("cache_keep", "Keeps (folder, name, key, bytes)."),
    function<&cache_kept>(
        "cache_kept", "The bytes kept as (folder, name, key); none if there are none, or others than were kept."),
    function<&slow_work_begin>(
        "slow_work_begin", "A number for work that a terminal is told of once it takes two seconds."),
    function<&slow_work_say>("slow_work_say", "(number, text): what it does now."),
    function<&slow_work_end>("slow_work_end", "Takes its line back."), {}};

}  // namespace

int bind_cache(PyObject* module) { return PyModule_AddFunctions(module, cache_functions); }

}  // namespace shim
