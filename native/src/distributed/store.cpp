#include "distributed/store.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace shim::distributed {
namespace {

struct Writer {
  std::string bytes;
  template <class T> void number(T v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(const std::string& s) { number(uint32_t(s.size())), bytes += s; }
  void texts(const std::vector<std::string>& all) {
    number(uint32_t(all.size()));
    for (const std::string& s : all) text(s);
  }
};

struct Reader {
  std::string_view bytes;
  bool fine = true;
  template <class T> T number() {
    T v{};
    if (!(fine = fine && bytes.size() >= sizeof v)) return v;
    std::memcpy(&v, bytes.data(), sizeof v);
    bytes.remove_prefix(sizeof v);
    return v;
  }
  std::string text() {
    const size_t n = number<uint32_t>();
    if (!(fine = fine && bytes.size() >= n)) return {};
    std::string found(bytes.substr(0, n));
    bytes.remove_prefix(n);
    return found;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (uint32_t left = number<uint32_t>(); fine && left; --left) all.push_back(text());
    return all;
  }
};

Reply with(int64_t number) { return {.number = number}; }

}  // namespace

std::string packed(const Request& r) {
  Writer w;
  w.number(r.ask), w.number(r.number), w.number(r.timeout);
  w.texts(r.keys), w.text(r.value), w.text(r.expected);
  return std::move(w.bytes);
}

std::string packed(const Reply& r) {
  Writer w;
  w.number(r.outcome), w.number(r.number), w.text(r.value), w.texts(r.list);
  return std::move(w.bytes);
}

bool unpack(std::string_view bytes, Request* r) {
  Reader in{bytes};
  r->ask = in.number<Ask>(), r->number = in.number<int64_t>(), r->timeout = in.number<int64_t>();
  r->keys = in.texts(), r->value = in.text(), r->expected = in.text();
  return in.fine && in.bytes.empty() && r->ask <= Ask::leave;
}

bool unpack(std::string_view bytes, Reply* r) {
  Reader in{bytes};
  r->outcome = in.number<Outcome>(), r->number = in.number<int64_t>(), r->value = in.text(), r->list = in.texts();
  return in.fine && in.bytes.empty() && r->outcome <= Outcome::left;
}

bool Table::has(const std::string& key) const {
  if (values_.contains(key)) return true;
  const auto queue = queues_.find(key);
  return queue != queues_.end() && !queue->second.empty();
}

Reply Table::add(const Request& r) {
  std::string& value = values_[r.keys[0]];
  int64_t sum = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), sum);
  if (!value.empty() && (error != std::errc() || end != value.data() + value.size()))
    return {.outcome = Outcome::refused, .value = str("add: the value of the key ", r.keys[0], " is no number")};
  sum = int64_t(uint64_t(sum) + uint64_t(r.number));
  value = str(sum);
  return with(sum);
}

Reply Table::swap(const Request& r) {
  const auto found = values_.find(r.keys[0]);
  if (found == values_.end() && !r.expected.empty()) return {.value = r.expected};
  if (found != values_.end() && found->second != r.expected) return {.value = found->second};
  values_[r.keys[0]] = r.value;
  return {.value = r.value};
}

std::optional<Reply> Table::answer(const Request& r) {
  const bool all = std::all_of(r.keys.begin(), r.keys.end(), [this](const std::string& k) { return has(k); });
  if (r.ask == Ask::check) return with(all);
  if (r.ask == Ask::wait) return all ? std::optional(Reply{}) : std::nullopt;
  if (r.ask == Ask::count) return with(int64_t(values_.size()));
  Reply reply;
  if (r.ask == Ask::list) {
    for (const auto& [key, value] : values_) reply.list.push_back(key);
    return reply;
  }
  if (r.keys.empty()) return Reply{.outcome = Outcome::refused, .value = "a request without a key"};
  const std::string& key = r.keys[0];
  switch (r.ask) {
    case Ask::set: values_[key] = r.value; return reply;
    case Ask::append: values_[key] += r.value; return reply;
    case Ask::add: return add(r);
    case Ask::swap: return swap(r);
    case Ask::remove: return with(int64_t(values_.erase(key)));
    case Ask::push: queues_[key].push_back(r.value); return reply;
    case Ask::get: {
      const auto found = values_.find(key);
      if (found == values_.end()) return std::nullopt;
      return Reply{.value = found->second};
    }
    case Ask::length: {
      const auto queue = queues_.find(key);
      return with(queue == queues_.end() ? 0 : int64_t(queue->second.size()));
    }
    case Ask::pop: {
      const auto queue = queues_.find(key);
      if (queue == queues_.end()) return std::nullopt;
      reply.value = std::move(queue->second.front());
      queue->second.pop_front();
      if (queue->second.empty()) queues_.erase(queue);
      return reply;
    }
    default: return Reply{.outcome = Outcome::refused, .value = "a request of another kind"};
  }
}

Reply MemoryStore::call(const Request& r) {
  std::unique_lock held(lock_);
  const auto until = Clock::now() + Milliseconds(r.timeout);
  for (;;) {
    if (std::optional<Reply> reply = table_.answer(r)) {
      if (Table::changes(r.ask)) changed_.notify_all();
      return *reply;
    }
    if (changed_.wait_until(held, until) == std::cv_status::timeout) {
      std::optional<Reply> reply = table_.answer(r);
      return reply ? *reply : Reply{.outcome = Outcome::late};
    }
  }
}

std::shared_ptr<void> MemoryStore::join(const std::string&, int, int, std::shared_ptr<Peers>) {
  fail_between(
      FailureKind::store, "a HashStore connects no processes: a group of several needs a TCPStore or a FileStore");
}

}  // namespace shim::distributed
