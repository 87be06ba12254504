// The functions that a shared library imports stand in tables of addresses, one for each library (ELF's global offset table).
#include "imports/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace imports {
namespace {

#if defined(__x86_64__)
constexpr unsigned long kJump = R_X86_64_JUMP_SLOT, kData = R_X86_64_GLOB_DAT, kWord = R_X86_64_64;
#elif defined(__aarch64__)
constexpr unsigned long kJump = R_AARCH64_JUMP_SLOT, kData = R_AARCH64_GLOB_DAT, kWord = R_AARCH64_ABS64;
#else
#error "the relocations of this processor are not known here"
#endif

struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * relocations[2] = {nullptr, nullptr};
  size_t bytes[2] = {0, 0};
};

Tables tables_of(const link_map* library) {
  // glibc adds the base to these addresses in place, musl does not.
  auto at = [&](ElfW(Addr) value) { return value < library->l_addr ? value + library->l_addr : value; };
  Tables found;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) found.strings = reinterpret_cast<const char*>(at(entry->d_un.d_ptr));
    if (entry->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr));
    if (entry->d_tag == DT_JMPREL) found.relocations[0] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr));
    if (entry->d_tag == DT_PLTRELSZ) found.bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) found.relocations[1] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr));
    if (entry->d_tag == DT_RELASZ) found.bytes[1] = entry->d_un.d_val;
  }
  return found;
}

// Where a library's addresses become read-only once it is loaded (RELRO).
struct ReadOnly {
  ElfW(Addr) base, begin, end;
};

int find_read_only(dl_phdr_info* info, size_t, void* data) {
  auto* wanted = static_cast<ReadOnly*>(data);
  if (info->dlpi_addr != wanted->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
      wanted->begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      wanted->end = wanted->begin + info->dlpi_phdr[i].p_memsz;
    }
  return 1;
}

bool write(void** slot, void* value, const ReadOnly& closed) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(slot);
  void* start = reinterpret_cast<void*>(address & ~(page - 1));
  const bool shut = address >= closed.begin && address < closed.end;
  if (shut && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  // The last page of what is read-only may hold other data, which stays writable.
  if (shut && reinterpret_cast<uintptr_t>(start) + page <= closed.end) mprotect(start, page, PROT_READ);
  return true;
}

long bind_library(const link_map* library, const Function* functions, size_t count) {
  const Tables tables = tables_of(library);
  if (tables.strings == nullptr || tables.symbols == nullptr) return 0;
  ReadOnly closed{library->l_addr, 0, 0};
  dl_iterate_phdr(find_read_only, &closed);
  long bound = 0;
  for (int part = 0; part < 2; ++part) {
    const ElfW(Rela)* first = tables.relocations[part];
    const size_t entries = first != nullptr ? tables.bytes[part] / sizeof(ElfW(Rela)) : 0;
    for (const ElfW(Rela)* entry = first; entry != first + entries; ++entry) {
      const unsigned long kind = ELF64_R_TYPE(entry->r_info), symbol = ELF64_R_SYM(entry->r_info);
      if (symbol == 0 || (kind != kJump && kind != kData && kind != kWord)) continue;
      const ElfW(Sym)& wanted = tables.symbols[symbol];
      if (wanted.st_shndx != SHN_UNDEF) continue;
      for (size_t i = 0; i < count; ++i)
        if (std::strcmp(tables.strings + wanted.st_name, functions[i].name) == 0)
          bound += write(reinterpret_cast<void**>(library->l_addr + entry->r_offset), functions[i].address, closed);
    }
  }
  return bound;
}

}  // namespace

long bind(const std::string& path, const std::string& folder, int flags, const Function* functions, size_t count) {
  void* handle = dlopen(path.c_str(), flags);  // stays open, as Python's own handle does
  link_map* own = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0) return -1;
  long bound = bind_library(own, functions, count);
  if (folder.empty()) return bound;
  const link_map* first = own;
  while (first->l_prev != nullptr) first = first->l_prev;
  for (const link_map* library = first; library != nullptr; library = library->l_next)
    if (library != own && std::strncmp(library->l_name, folder.c_str(), folder.size()) == 0)
      bound += bind_library(library, functions, count);
  return bound;
}

}  // namespace imports
