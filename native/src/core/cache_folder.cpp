#include "core/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace shim {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH, kOthers = S_IRWXG | S_IRWXO;
constexpr char kMagic[] = "SHIMKEEP";

struct Header {
  char magic[8];
  uint64_t key[2], size, checksum;
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

// A plain file that this user alone may write to, without a second name. (One that was just replaced has none.)
bool is_ours(int file) {
  struct stat s;
  return ::fstat(file, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && !(s.st_mode & kOthersWrite) &&
         s.st_nlink <= 1;
}

// The process, a count within it and the time: O_EXCL finds the name that is taken all the same.
std::string own_name(const std::string& name) {
  static std::atomic<uint64_t> count{0};
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t here = reinterpret_cast<uintptr_t>(&now);  // on the thread's own stack, at a random address
  const uint64_t parts[] = {uint64_t(now.tv_nsec), uint64_t(now.tv_sec), here, ++count};
  char text[64];
  std::snprintf(text, sizeof text, ".%ld.%016llx.tmp", long(::getpid()),
      static_cast<unsigned long long>(digest({reinterpret_cast<const char*>(parts), sizeof parts})));
  return name + text;
}

Header header_of(std::string_view key, std::string_view bytes) {
  Header h{};
  std::memcpy(h.magic, kMagic, sizeof h.magic);
  h.key[0] = digest(key);
  h.key[1] = digest(key, ~h.key[0] ^ key.size());
  h.size = bytes.size();
  h.checksum = digest(bytes, h.key[1]);
  return h;
}

// A folder that the user named, which may be for other things too: others keep the right to read it.
bool is_named(const std::string& path) {
  const char* own = std::getenv("SHIM_CACHE_DIR");
  return own && path == own;
}

// What a process that was killed did not rename.
bool is_left_over(const char* name, const struct stat& s) {
  constexpr time_t kHour = 3600;
  const std::string_view text(name);
  return text.ends_with(".tmp") && S_ISREG(s.st_mode) && s.st_mtime + kHour < ::time(nullptr);
}

// Every folder on the way is made; a link on it has to be this user's or the system's.
std::string make_way(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat s;
    if (::lstat(part.c_str(), &s) != 0) {
      if (errno != ENOENT || (::mkdir(part.c_str(), S_IRWXU) != 0 && errno != EEXIST))
        return part + ": " + std::strerror(errno);
    } else if (S_ISLNK(s.st_mode) && s.st_uid != ::geteuid() && s.st_uid != 0) {
      return part + " is a link of another user's";
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace

std::string cache_folder() {
  if (const char* own = std::getenv("SHIM_CACHE_DIR")) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::string(xdg) + "/shim_torch";
  if (const char* home = std::getenv("HOME"); home && *home) return std::string(home) + "/.cache/shim_torch";
  return {};
}

PrivateFolder::PrivateFolder(const std::string& path) {
  if (path.empty()) return;
  why_ = make_way(path);
  if (!why_.empty()) return;
  folder_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat s;
  if (folder_ < 0 || ::fstat(folder_, &s) != 0)
    why_ = path + ": " + std::strerror(errno);
  else if (s.st_uid != ::geteuid())
    why_ = path + " is another user's";
  else if (s.st_mode & S_ISVTX)
    why_ = path + " is for everybody's files";
  else if ((s.st_mode & (is_named(path) ? kOthersWrite : kOthers)) && ::fchmod(folder_, S_IRWXU) != 0)
    why_ = path + " is not for this user alone";
  if (why_.empty() || folder_ < 0) return;
  ::close(folder_);
  folder_ = -1;
}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) ::close(folder_);
}

std::string PrivateFolder::read(const std::string& name) const {
  std::string text;
  const int file = ::openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno != ELOOP) return text;
  if (file < 0 || !is_ours(file)) {
    remove(name);
  } else {
    char buffer[65536];
    for (ssize_t n; (n = ::read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  }
  if (file >= 0) ::close(file);
  return text;
}

bool PrivateFolder::write(const std::string& name, std::string_view bytes) const {
  const std::string own = own_name(name);
  const int file =
      ::openat(folder_, own.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  const bool whole = write_all(file, bytes);
  if (::close(file) == 0 && whole && ::renameat(folder_, own.c_str(), folder_, name.c_str()) == 0) return true;
  remove(own);
  return false;
}

bool PrivateFolder::append(const std::string& name, std::string_view bytes) const {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int file = ::openat(folder_, name.c_str(), flags, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  const bool done = is_ours(file) && ::write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
  ::close(file);
  return done;
}

void PrivateFolder::sweep() const {
  DIR* all = ::fdopendir(::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!all) return;
  struct stat s;
  while (const dirent* e = ::readdir(all))
    if (::fstatat(folder_, e->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && is_left_over(e->d_name, s)) remove(e->d_name);
  ::closedir(all);
}

void PrivateFolder::remove(const std::string& name) const { ::unlinkat(folder_, name.c_str(), 0); }

uint64_t digest(std::string_view bytes, uint64_t start) {
  uint64_t h = start;
  for (unsigned char c : bytes) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

std::string sealed(std::string_view key, std::string_view bytes) {
  const Header h = header_of(key, bytes);
  std::string entry(reinterpret_cast<const char*>(&h), sizeof h);
  return entry.append(bytes);
}

std::string unsealed(std::string_view key, std::string_view entry) {
  if (entry.size() < sizeof(Header)) return {};
  const std::string_view bytes = entry.substr(sizeof(Header));
  const Header h = header_of(key, bytes);
  return std::memcmp(&h, entry.data(), sizeof h) == 0 ? std::string(bytes) : std::string();
}

bool usable(const PrivateFolder& folder) {
  static std::atomic<bool> said{false};
  if (!folder.open() && !folder.why().empty() && !said.exchange(true))
    std::fprintf(stderr, "shim_torch: compiled kernels are not kept, for their folder cannot be used: %s\n",
        folder.why().c_str());
  return folder.open();
}

std::string kept(const std::string& folder, const std::string& name, std::string_view key) {
  const PrivateFolder f(folder);
  if (!usable(f)) return {};
  const std::string entry = f.read(name);
  std::string bytes = unsealed(key, entry);
  if (bytes.empty() && !entry.empty()) f.remove(name);
  return bytes;
}

void keep(const std::string& folder, const std::string& name, std::string_view key, std::string_view bytes) {
  const PrivateFolder f(folder);
  if (usable(f)) f.write(name, sealed(key, bytes));
}

void forget(const std::string& folder, const std::string& name) {
  const PrivateFolder f(folder);
  if (f.open()) f.remove(name);
}

}  // namespace shim
