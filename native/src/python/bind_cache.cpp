// Folders of the user's own, and entries kept in them; what is said of work that takes long.
#include "core/cache_folder.h"
#include "core/slow_work.h"
#include "python/held_type.h"

namespace shim {

template <> struct module_call::Argument<SlowWork&> : HeldArgument<SlowWork> {};

namespace {

using Words = const std::string&;
using Given = std::span<const char>;

std::string private_folder(Words path) { return PrivateFolder(path).why(); }

void cache_sweep(Words path) {
  if (const PrivateFolder folder{path}; folder.open()) folder.sweep();
}

void cache_keep(Words folder, Words name, Given key, Given bytes) {
  keep(folder, name, {key.data(), key.size()}, {bytes.data(), bytes.size()});
}

Bytes cache_kept(Words folder, Words name, Given key) { return {kept(folder, name, {key.data(), key.size()})}; }

const HeldType<SlowWork> slow_work_type{
    "SlowWork", {object_method<[](SlowWork& work, Words text) { work.say(text); }>("say", "What it does now.")}};

const ModulePart cache_functions{
    {function<&private_folder>("private_folder",
         "Makes a folder for this user alone, or takes others' right to write; why it cannot be used, or nothing."),
        function<&cache_folder>("cache_folder", "Where compiled kernels and measured choices are kept; or nothing."),
        function<&cache_sweep>("cache_sweep", "Removes from a folder what writers that were killed left in it."),
        function<&cache_keep>("cache_keep", "Keeps (folder, name, key, bytes)."),
        function<&cache_kept>(
            "cache_kept", "The bytes kept as (folder, name, key); none if there are none, or others than were kept."),
        function<[](Words what) { return std::make_shared<SlowWork>(what); }>(
            "slow_work", "Work that a terminal is told of once it takes two seconds, while the object lives.")}};

}  // namespace

}  // namespace shim
