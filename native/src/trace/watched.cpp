// Memory that a trace hides between operators, so that it sees who reads values.
#include <algorithm>
#include <utility>
#include <vector>

#include "trace/session.h"

namespace shim::trace {

// What nobody else has any more, which goes when the list is whole: what the interpreter runs as it goes may call operators.
std::vector<Ref<Storage>> Session::no_longer_watched() {
  std::vector<Ref<Storage>> gone;
  std::erase_if(watched_, [&](Watched& h) {
    if (h.now || h.storage->use_count() > 1) return false;
    return gone.push_back(std::move(h.storage)), true;
  });
  return gone;
}

// That goes before the operator has memory for its results.
void Session::unwatch() {
  do
    for (Watched& h : watched_)
      if (h.now) h.storage->show(h.memory), h.now = false;
  while (!no_longer_watched().empty());  // others are watched again then
}

void Session::watch(const Storage& storage) {
  if (!watching || !storage.may_hide() || !storage.nbytes()) return;
  for (const Watched& h : watched_)
    if (h.storage.get() == &storage) return;
  watched_.push_back({Ref<Storage>(const_cast<Storage*>(&storage)), nullptr, false});
}

void Session::rewatch() {
  const auto gone = no_longer_watched();
  for (Watched& h : watched_)
    if (!h.now && !h.storage->hidden() && h.storage->may_hide()) h.memory = h.storage->hide(), h.now = true;
}

Session::NotWatched::NotWatched(Session& session, const std::vector<Ref<Storage>>& storages)
    : session_(session), storages_(storages) {
  std::erase_if(session.watched_, [&](const Watched& w) {
    const bool made = w.storage->hidden() && !w.now && session.knows(*w.storage);
    if (!made || w.storage->trace_slot >= storages.size() || storages[w.storage->trace_slot] != w.storage) return false;
    return slots_.push_back(w.storage->trace_slot), true;
  });
}

Session::NotWatched::~NotWatched() {
  for (uint32_t slot : slots_) watch_again(slot);
}

void Session::NotWatched::no_longer_used(uint32_t slot) const {
  if (std::ranges::find(slots_, slot) != slots_.end()) watch_again(slot);
}

void Session::NotWatched::watch_again(uint32_t slot) const {
  if (const Ref<Storage>& s = storages_[slot]; s && s->use_count() > 1) session_.watch(*s);
}

}  // namespace shim::trace
