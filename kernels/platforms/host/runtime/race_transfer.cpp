// Copies and fills, as the shadow of races sees them.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "fault.hpp"
#include "race.hpp"

namespace bitgate_host {
namespace {

// A cell of the shadow takes twenty times the memory that it is of.
constexpr size_t mostWatched = size_t{16} << 20;

void raise(const char* call, const RaceAccess& access, const RaceFound& found) {
  BitgateHostFault fault{};
  fault.kind = bitgateFaultRace;
  fault.error = hipErrorLaunchFailure;
  fault.is_write = access.write;
  fault.address = access.address;
  std::snprintf(fault.kernel, sizeof fault.kernel, "%s", call);
  std::snprintf(fault.buffer, sizeof fault.buffer, "%s", found.where);
  std::snprintf(fault.text, sizeof fault.text,
                "%s: race on %.63s, offset %" PRIu64 ": its %s of %" PRIu64 " bytes and the %s by %.95s have "
                "neither a stream, an event nor a wait that orders them",
                call, found.where, found.offset, access.write ? "write" : "read", access.bytes,
                found.otherWrote ? "write" : "read", found.otherWork);
  bitgate_host::raise(fault);
}

} // namespace

// Never destroyed: other threads may still use it while the process exits.
RaceShadow& raceShadow() {
  static RaceShadow& only = *new RaceShadow;
  return only;
}

void watchTransfer(const char* call, const TransferRange* ranges, size_t count) {
  if (!isAnyInstrumented())
    return;
  RaceShadow& shadow = raceShadow();
  shadow.beginLaunch(call);
  constexpr uint16_t noMeetings[1] = {};
  for (const TransferRange* range = ranges; range != ranges + count; ++range) {
    if (!range->bytes || range->bytes > mostWatched)
      continue;
    const RaceAccess access{reinterpret_cast<uint64_t>(range->pointer), range->bytes, range->write, false,
                            nullptr};
    if (const auto found = shadow.note(access, {0, shadow.stretch, 0, 0}, {5, noMeetings});
        found && found->otherWork)
      return raise(call, access, *found);
  }
}

} // namespace bitgate_host
