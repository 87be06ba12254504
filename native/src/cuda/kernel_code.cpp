#include "cuda/kernel_code.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>

#include "core/cache_folder.h"
#include "core/interpreter_lock.h"
#include "cuda/nvrtc.h"

namespace shim::cuda {
namespace {

struct Making {
  bool done = false;
  Code code;
};

struct Codes {
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::shared_ptr<Making>>
      making;  // and what was made ahead and not asked for yet
  CodeCounts counts{};
};

// Never destroyed: threads may be in it when the process ends.
Codes* codes_ = nullptr;
std::once_flag codes_made;

Codes& codes() {
  std::call_once(codes_made, [] {
    codes_ = new Codes;
    pthread_atfork(nullptr, nullptr, [] { codes_ = new Codes; });
  });
  return *codes_;
}

std::atomic<PlaceFinder> place_finder{nullptr};

// Made once, without a lock: what makes it may run Python, which lets other threads run that want it too.
template <class T, class F> const T& made_once(std::atomic<const T*>& known, F&& make) {
  if (const T* found = known.load(std::memory_order_acquire)) return *found;
  auto own = make();
  const T* first = nullptr;
  if (known.compare_exchange_strong(first, own.get())) first = own.release();
  return *first;
}

struct Place {
  std::string folder, file, key;

  Place(const Specialisation& s, int architecture) : folder(cache_folder()), key(code_key(s, architecture)) {
    if (!folder.empty()) folder += "/kernels";
    std::string name = s.program;  // the digest tells programs apart; the name is for people
    for (const std::string& m : s.macros) name += "-" + m.substr(m.find('=') + 1);
    std::ranges::replace(name, '.', '_');
    char text[96];
    std::snprintf(text, sizeof text, "%.40s-sm%d-%016llx", name.c_str(), architecture,
        static_cast<unsigned long long>(digest(key)));
    file = text;
  }
  std::string cubin() const { return file + ".cubin"; }
  std::string failure() const { return file + ".failed"; }
};

Code owned(std::string bytes) {
  auto memory = std::make_shared<const std::string>(std::move(bytes));
  return {*memory, memory, {}};
}

// A failure is kept too, for `doctor` to show, until the program compiles.
Code compiled_and_kept(const Specialisation& s, int architecture, const Place& place, bool silent) {
  try {
    nvrtc::Compiled c = nvrtc::compile(s, architecture, silent);
    const PrivateFolder folder(place.folder);
    if (!c.cubin.empty()) {
      if (usable(folder)) {
        static std::once_flag swept;
        std::call_once(swept, [&] { folder.sweep(); });
        folder.write(place.cubin(), sealed(place.key, c.cubin));
        folder.remove(place.failure());
      }
      return owned(std::move(c.cubin));
    }
    if (c.from_compiler && usable(folder))
      folder.write(place.failure(),
          hexadecimal(sources_digest()) + " sm_" + std::to_string(architecture) + " " + s.text() + "\n" + c.log);
    return {{}, {}, std::move(c.log)};
  } catch (const std::exception& e) {  // others may wait for it
    return {{}, {}, e.what()};
  }
}

// `count`: what it adds to, if anything.
void finish(Making& m, Code code, unsigned long long CodeCounts::* count) {
  Codes& c = codes();
  {
    std::lock_guard<std::mutex> guard(c.lock);
    m.code = std::move(code);
    m.done = true;
    if (count) ++(c.counts.*count);
  }
  c.changed.notify_all();
}

// What another thread is making or has made; null: this one makes it, and the others see that.
std::shared_ptr<Making> made_by_another(const std::pair<int, std::string>& key, std::shared_ptr<Making>& own) {
  Codes& c = codes();
  std::lock_guard<std::mutex> guard(c.lock);
  auto [it, fresh] = c.making.try_emplace(key);
  if (!fresh) return it->second;
  own = it->second = std::make_shared<Making>();
  return nullptr;
}

void drop(const std::pair<int, std::string>& key, const std::shared_ptr<Making>& m) {
  Codes& c = codes();
  std::lock_guard<std::mutex> guard(c.lock);
  if (auto it = c.making.find(key); it != c.making.end() && it->second == m) c.making.erase(it);
}

Code awaited(const std::pair<int, std::string>& key, const std::shared_ptr<Making>& m, const Specialisation& s) {
  Codes& c = codes();
  {
    Unlocked others_run;
    nvrtc::Patience said(s.program);
    std::unique_lock<std::mutex> guard(c.lock);
    c.changed.wait(guard, [&] { return m->done; });
  }
  drop(key, m);
  return m->code;
}

}  // namespace

void set_kernel_places(PlaceFinder f) { place_finder = f; }

const KernelPlaces& kernel_places() {
  static std::atomic<const KernelPlaces*> known{nullptr};
  return made_once(known, [] {
    const PlaceFinder find = place_finder;
    return std::make_unique<KernelPlaces>(find ? find() : KernelPlaces{});
  });
}

const KernelPack& kernel_pack() {
  static std::atomic<const KernelPack*> known{nullptr};
  return made_once(known, [] { return std::make_unique<KernelPack>(kernel_places().pack); });
}

CodeCounts code_counts() {
  std::lock_guard<std::mutex> guard(codes().lock);
  return codes().counts;
}

Code code_for(const Specialisation& s, int architecture, const std::function<void()>& before, bool again) {
  if (!again)
    if (const std::string_view packed = kernel_pack().find(s, architecture); !packed.empty()) {
      std::lock_guard<std::mutex> guard(codes().lock);
      ++codes().counts.pack;
      return {packed, {}, {}};
    }
  const std::pair<int, std::string> key(architecture, s.text());
  std::shared_ptr<Making> own;
  if (auto another = made_by_another(key, own)) {
    before();
    return awaited(key, another, s);
  }
  const Place place(s, architecture);
  if (again) forget(place.folder, place.cubin());
  std::string bytes = again ? std::string() : kept(place.folder, place.cubin(), place.key);
  if (!bytes.empty()) {
    finish(*own, owned(std::move(bytes)), &CodeCounts::kept);
  } else {
    before();
    nvrtc::version();  // loads it, for which Python is asked: not without its lock
    Unlocked others_run;
    finish(*own, compiled_and_kept(s, architecture, place, false), &CodeCounts::compiled);
  }
  drop(key, own);
  return own->code;
}

bool make_ahead(const Specialisation& s, int architecture) {
  const std::pair<int, std::string> key(architecture, s.text());
  if (!kernel_pack().find(s, architecture).empty()) return false;
  std::shared_ptr<Making> own;
  if (made_by_another(key, own)) return false;
  const Place place(s, architecture);
  std::string bytes = kept(place.folder, place.cubin(), place.key);
  if (!bytes.empty()) {
    finish(*own, owned(std::move(bytes)), nullptr);
    drop(key, own);
    return false;
  }
  finish(*own, compiled_and_kept(s, architecture, place, true), &CodeCounts::ahead);
  return true;
}

}  // namespace shim::cuda
