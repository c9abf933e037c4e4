// Loaded before a program that `bitgate exec` starts: sets the host runtime as BITGATE_EXEC says, and tells
// at the program's end what the runtime has seen, on a descriptor of its own, so that the program's output is
// its own.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bitgate_host.h"

namespace {

int report = -1; // where it goes

void line(const char* word, char* text) {
  for (char* at = text; *at != 0; ++at)
    if (*at == '\n')
      *at = ' ';
  dprintf(report, "%s %s\n", word, text);
}

void tell() {
  uint64_t count = bitgateHostIncidents();
  for (uint64_t number = 0, all = count; number < all; ++number) {
    BitgateHostFault fault;
    if (bitgateHostIncident(number, &fault) != 0) // only the latest are kept
      continue;
    if (std::strncmp(fault.text, "hipDeviceReset:", 15) == 0)
      --count; // of a program: its own memory and streams
    else
      line("incident", fault.text);
  }
  char text[256] = "";
  const void* no_stream = &report; // so that all streams count
  if (const uint64_t waiting = bitgateHostWorkInFlight(const_cast<void*>(no_stream), text, sizeof text))
    dprintf(report, "waiting %" PRIu64 "\n", waiting), line("first", text);
  dprintf(report, "incidents %" PRIu64 "\n", count);
}

// After the runtime's own begin, and before its end: this library needs it.
__attribute__((constructor)) void begin() {
  const char* said = std::getenv("BITGATE_EXEC");
  int schedule = 0;
  uint64_t seed = 0;
  unsigned wave = 0;
  int keepGoing = 0;
  if (said == nullptr ||
      std::sscanf(said, "%d %d %" SCNu64 " %u %d", &report, &schedule, &seed, &wave, &keepGoing) != 5)
    return;
  bitgateHostSetSchedule(schedule, seed);
  if (wave) // else it is the program's own
    bitgateHostSetWaveSize(wave);
  bitgateHostSetKeepGoing(keepGoing);
  bitgateHostSetFaultPlaces(1);
  std::atexit(tell);
}

} // namespace
