#include "cuda/device_failure.h"

#include <cstring>
#include <map>
#include <mutex>

#include "cuda/assert_sites.h"
#include "cuda/block_cache.h"
#include "cuda/entries/asserts.h"

namespace shim::cuda {
namespace {

constexpr CUresult kAssert = 710;

struct Failures {
  std::mutex lock;
  std::map<int, AssertRecord*>
      records;  // in mapped memory, kept for ever: kernels may write to them; null: there was no room
  struct Reason {
    std::string text;
    CUresult code;
  };
  std::map<int, Reason> reasons;  // of broken devices
};
Failures& failures() {
  static auto* f = new Failures();
  return *f;
}

struct SiteText {
  const char *functions, *text;
};
#define SHIM_SITE(site, functions, text) {functions, text},
constexpr SiteText kSites[] = {{"", ""}, SHIM_ASSERT_SITES(SHIM_SITE)};
#undef SHIM_SITE

void replace(std::string& text, std::string_view what, const std::string& by) {
  if (const size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

std::string place(const unsigned (&at)[3]) { return str('[', at[0], ',', at[1], ',', at[2], ']'); }

std::string said_by(const AssertRecord& r) {
  const SiteText& site = kSites[size_t(r.site) < std::size(kSites) ? r.site : 0];
  std::string text = site.text;
  double chance;
  std::memcpy(&chance, &r.value, sizeof chance);
  replace(text, "{value}", std::to_string(r.value));
  replace(text, "{bound}", std::to_string(r.bound));
  replace(text, "{chance}", str(chance));
  return str(site.functions, ": ", text, " (block ", place(r.block), ", thread ", place(r.thread), ")");
}

int site_of(const AssertRecord& r) { return *const_cast<const volatile int*>(&r.site); }  // a kernel writes it

void mark(Failures& f, int device, const std::string& reason, CUresult code) {
  f.reasons[device] = {
      str("CUDA error: ", reason, "\nThe device must be restarted: the CUDA context of device ", device,
          " is broken, and only a new process gets another one.\nKernels run asynchronously: a later call "
          "may report what an earlier one did, unless CUDA_LAUNCH_BLOCKING=1 is set."),
      code};
  broken_devices |= uint64_t(1) << device;
}

// The device whose kernel left a record that nobody has read; -1: none.
int newly_asserted(Failures& f) {
  for (const auto& [device, record] : f.records)
    if (record && site_of(*record) && !f.reasons.contains(device)) {
      mark(f, device, "device-side assert triggered\n" + said_by(*record), kAssert);
      return device;
    }
  return -1;
}

AssertRecord* record_of(int device) {
  Failures& f = failures();
  OnDevice current(device);
  std::lock_guard<std::mutex> guard(f.lock);
  auto [it, fresh] = f.records.try_emplace(device, nullptr);
  if (!fresh) return it->second;
  constexpr unsigned kPortable = 1, kMapped = 2;
  void* memory = nullptr;
  if (!driver().host_alloc || driver().host_alloc(&memory, sizeof(AssertRecord), kPortable | kMapped) != 0)
    return nullptr;
  std::memset(memory, 0, sizeof(AssertRecord));
  return it->second = static_cast<AssertRecord*>(memory);
}

}  // namespace

bool breaks_context(CUresult r) {
  switch (r) {
    case 214:      // CUDA_ERROR_ECC_UNCORRECTABLE
    case 700:      // CUDA_ERROR_ILLEGAL_ADDRESS
    case 702:      // CUDA_ERROR_LAUNCH_TIMEOUT
    case 709:      // CUDA_ERROR_CONTEXT_IS_DESTROYED
    case kAssert:  // CUDA_ERROR_ASSERT
    case 714:      // CUDA_ERROR_HARDWARE_STACK_ERROR
    case 715:      // CUDA_ERROR_ILLEGAL_INSTRUCTION
    case 716:      // CUDA_ERROR_MISALIGNED_ADDRESS
    case 717:      // CUDA_ERROR_INVALID_ADDRESS_SPACE
    case 718:      // CUDA_ERROR_INVALID_PC
    case 719:      // CUDA_ERROR_LAUNCH_FAILED, which a trap gives
      return true;
    default: return false;
  }
}

void raise_broken(int device) {
  Failures& f = failures();
  std::unique_lock<std::mutex> guard(f.lock);
  const Failures::Reason reason = f.reasons[device];
  guard.unlock();
  throw Error(Kind::Accelerator, reason.text, reason.code);
}

void raise_failure(CUresult r, const char* what) {
  Failures& f = failures();
  int device = current_device();
  {
    std::lock_guard<std::mutex> guard(f.lock);
    if (const int asserted = newly_asserted(f); asserted >= 0 && !f.reasons.contains(device)) device = asserted;
    if (!f.reasons.contains(device) && !f.reasons.empty())
      device = f.reasons.begin()->first;  // the caller has gone back to another device
    if (f.reasons.empty()) mark(f, device, describe(r, what), r);
  }
  raise_broken(device);
}

void check_device(int device) {
  refuse_broken(device);
  Failures& f = failures();
  {
    std::lock_guard<std::mutex> guard(f.lock);
    newly_asserted(f);
  }
  refuse_broken(device);
  const Driver& d = driver();
  if (!d.loaded || !d.stream_capturing || !d.stream_query) return;
  OnDevice current(device);
  const CUstream stream = current_stream(device);
  int captures = 0;
  CUresult r = d.stream_capturing(stream, &captures);
  if (r == 0 && !captures) r = d.stream_query(stream);
  if (breaks_context(r)) raise_failure(r, "cuStreamQuery");
}

void give_assert_record(CUmodule module, int device) {
  const Driver& d = driver();
  using Set = entries::asserts::set_assert_record;
  CUfunction set = nullptr;
  OnDevice current(device);
  if (d.module_function(&set, module, Set::name) != 0 || !set) return;
  AssertRecord* record = record_of(device);
  if (!record) return;
  RelaxedCapture relaxed;
  constexpr unsigned kNonBlocking = 1;
  CUstream stream = nullptr;  // a stream that no capture is about
  if (d.stream_create(&stream, kNonBlocking, 0) != 0) return;
  const auto run = [&](void** arguments) { return d.launch(set, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr); };
  if (Set::with(run, record) == 0) d.stream_synchronize(stream);
  d.stream_destroy(stream);
}

}  // namespace shim::cuda
