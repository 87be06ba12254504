#pragma once
// Where compiled kernels and measured choices are kept between processes: folders that only this user may write to, and entries that
// say what they are for. A checksum finds damage; that nobody else placed an entry is what the folder's owner and mode are for.
#include <cstdint>
#include <string>
#include <string_view>

namespace shim {

// SHIM_CACHE_DIR, or shim_torch in the user's cache folder; empty when there is no place.
std::string cache_folder();

// An open folder of this user's, and files in it that no link leads away from.
class PrivateFolder {
 public:
  // Made with mode 700 if it is not there, and given it where others may look in (may write, if it is SHIM_CACHE_DIR itself). Not open
  // when it, or a link on the way to it, is another user's: `why` says so.
  explicit PrivateFolder(const std::string& path);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  bool open() const { return folder_ >= 0; }
  const std::string& why() const { return why_; }

  std::string read(
      const std::string& name) const;  // empty if there is none; what is no file of this user's alone is removed
  bool write(const std::string& name, std::string_view bytes) const;  // in full under a name of its own, then renamed
  bool append(
      const std::string& name, std::string_view bytes) const;  // in one write, so that processes may share the file
  void remove(const std::string& name) const;
  void sweep() const;  // removes what writers that were killed left behind

 private:
  int folder_ = -1;
  std::string why_;
};

uint64_t digest(std::string_view bytes, uint64_t start = 0xcbf29ce484222325ull);  // FNV-1a

// An entry's bytes with what it is for and a checksum before them; and those bytes again, or nothing if anything is not as it was.
std::string sealed(std::string_view key, std::string_view bytes);
std::string unsealed(std::string_view key, std::string_view entry);

// What is kept under a name for a key, in a folder that may not be usable: then a line on stderr says so, once, and nothing is kept.
std::string kept(
    const std::string& folder, const std::string& name, std::string_view key);  // a damaged entry is removed
void keep(const std::string& folder, const std::string& name, std::string_view key, std::string_view bytes);
void forget(const std::string& folder, const std::string& name);
bool usable(const PrivateFolder& folder);  // says so, once, if it is not

}  // namespace shim
