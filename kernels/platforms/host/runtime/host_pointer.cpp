#include "host_pointer.hpp"

#include <algorithm>
#include <link.h>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include "memory.hpp"

namespace bitgate_host {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t nullPages = 65536;

// A loaded segment that holds a __device__ variable.
struct Segment {
  uint64_t begin, end;
  bool holds(uint64_t address) const { return begin <= address && address < end; }
};

std::mutex guard;
std::vector<Segment>& symbolSegments() {
  static auto& only = *new std::vector<Segment>;
  return only;
}

bool isKnownSymbol(uint64_t address) {
  std::lock_guard lock(guard);
  return std::ranges::any_of(symbolSegments(), [=](const Segment& s) { return s.holds(address); });
}

bool isMapped(uint64_t address) {
  unsigned char resident;
  return mincore(reinterpret_cast<void*>(address / page * page), page, &resident) == 0;
}

} // namespace

bool isHostPointer(const volatile void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return address >= nullPages && !findBufferNear(address) && isMapped(address) && !isKnownSymbol(address);
}

bool isDeviceSymbol(const void* address) {
  return isKnownSymbol(reinterpret_cast<uint64_t>(address));
}

void registerSymbol(const void* symbol) {
  struct Search {
    uint64_t address;
    Segment found;
  } search{reinterpret_cast<uint64_t>(symbol), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const uint64_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
          const Segment segment{from, from + info->dlpi_phdr[i].p_memsz};
          if (info->dlpi_phdr[i].p_type == PT_LOAD && segment.holds(wanted.address)) {
            wanted.found = segment;
            return 1;
          }
        }
        return 0;
      },
      &search);
  std::lock_guard lock(guard);
  if (std::ranges::none_of(symbolSegments(), [&](const Segment& s) { return s.begin == search.found.begin; }))
    symbolSegments().push_back(search.found);
}

} // namespace bitgate_host
