#include "settings.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sched.h>
#include <unistd.h>

#include "environment.hpp"
#include "error.hpp"

namespace bitgate_host {
namespace {

Settings initial() {
  Settings made;
  if (const char* gpu = pretendedGpu(); gpu && std::strncmp(gpu, "gfx1", 4) == 0)
    made.waveSize = 32;
  return made;
}

std::mutex guard;
Settings current = initial();

unsigned coresAvailable() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// Applies `change` when `valid`; the message says what would have been accepted.
template <class Change> int change(bool valid, const char* accepted, Change apply) {
  if (!valid)
    return fail(hipErrorInvalidValue, "bitgateHost setting refused: %s", accepted);
  std::lock_guard lock(guard);
  const uint32_t changes = current.changes + 1;
  apply(current);
  current.changes = changes;
  return hipSuccess;
}

} // namespace

Settings settings() {
  std::lock_guard lock(guard);
  return current;
}

unsigned threadsOf(const Settings& settings) {
  if (settings.threads)
    return settings.threads;
  static const unsigned cores = coresAvailable();
  const unsigned wanted = threadsInEnvironment();
  return wanted ? wanted : cores;
}

double spinLimitOf(const Settings& settings) {
  if (settings.spinSeconds > 0)
    return settings.spinSeconds;
  // Once: a thread asks again and again, beside others that may change the environment meanwhile.
  static const double wanted = spinSecondsInEnvironment();
  return wanted > 0 ? wanted : 20;
}

size_t totalMemoryOf(const Settings& settings) {
  static const size_t machine =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return settings.totalMemory ? settings.totalMemory : machine;
}

} // namespace bitgate_host

using namespace bitgate_host;

extern "C" {

int bitgateHostSetThreads(unsigned threads) {
  return change(threads <= 1024, "threads is 0 (default) to 1024", [=](Settings& s) { s.threads = threads; });
}

unsigned bitgateHostGetThreads(void) {
  return threadsOf(settings());
}

int bitgateHostSetWaveSize(unsigned lanes) {
  return change(lanes == 32 || lanes == 64, "a wave has 32 or 64 lanes",
                [=](Settings& s) { s.waveSize = lanes; });
}

unsigned bitgateHostGetWaveSize(void) {
  return settings().waveSize;
}

int bitgateHostSetComputeUnits(unsigned count) {
  return change(count >= 1 && count <= 65536, "1 to 65536 compute units",
                [=](Settings& s) { s.computeUnits = count; });
}

int bitgateHostSetOccupancy(unsigned blocks) {
  return change(blocks <= 1024, "occupancy is 0 (computed) to 1024 blocks",
                [=](Settings& s) { s.occupancy = blocks; });
}

int bitgateHostSetLdsLimit(size_t bytes) {
  return change(bytes <= (size_t{1} << 24), "the LDS limit is at most 16 MiB",
                [=](Settings& s) { s.ldsLimit = bytes; });
}

int bitgateHostSetTotalMemory(size_t bytes) {
  return change(true, "", [=](Settings& s) { s.totalMemory = bytes; });
}

int bitgateHostSetSchedule(int kind, uint64_t seed) {
  return change(kind >= bitgateHostForward && kind <= bitgateHostLockstep,
                "the schedule is bitgateHostForward, -Reverse, -Random or -Lockstep",
                [=](Settings& s) { s.schedule = kind, s.seed = seed; });
}

int bitgateHostSetPlacement(int placement) {
  return change(placement == bitgateHostRight || placement == bitgateHostLeft,
                "the placement is bitgateHostRight or bitgateHostLeft",
                [=](Settings& s) { s.placement = placement; });
}

int bitgateHostSetPoison(int on) {
  return change(true, "", [=](Settings& s) { s.poison.on = on != 0; });
}

int bitgateHostSetPoisonByte(unsigned byte) {
  return change(byte <= 0xFF, "a byte of poison is 0 to 255",
                [=](Settings& s) { s.poison.byte = static_cast<unsigned char>(byte); });
}

int bitgateHostSetStreamMode(int mode) {
  return change(mode == bitgateHostLazy || mode == bitgateHostEager,
                "the stream mode is bitgateHostLazy or bitgateHostEager",
                [=](Settings& s) { s.eager = mode == bitgateHostEager; });
}

int bitgateHostSetSpinLimit(double seconds) {
  return change(seconds >= 0 && seconds <= 1e6, "the spin limit is 0 (default) to 1e6 seconds",
                [=](Settings& s) { s.spinSeconds = seconds; });
}

int bitgateHostSetKeepGoing(int on) {
  return change(true, "", [=](Settings& s) { s.keepGoing = on != 0; });
}

int bitgateHostSetFaultPlaces(int on) {
  return change(true, "", [=](Settings& s) { s.places = on != 0; });
}

void bitgateHostGetSettings(BitgateHostSettings* out) {
  const Settings now = settings();
  *out = {now.threads,     now.waveSize, now.computeUnits, now.occupancy,  now.ldsLimit,
          now.totalMemory, now.schedule, now.placement,    now.seed,       now.poison.on,
          now.poison.byte, now.eager,    now.changes,      now.spinSeconds};
}

int bitgateHostSetSettings(const BitgateHostSettings* in) {
  return change(true, "", [=](Settings& s) {
    s.threads = in->threads, s.waveSize = in->wave_size, s.computeUnits = in->compute_units;
    s.occupancy = in->occupancy, s.ldsLimit = in->lds_limit, s.totalMemory = in->total_memory;
    s.schedule = in->schedule, s.placement = in->placement, s.seed = in->seed;
    s.poison.on = in->poison != 0, s.poison.byte = static_cast<unsigned char>(in->poison_byte);
    s.eager = in->stream_mode == bitgateHostEager, s.spinSeconds = in->spin_seconds;
  });
}

int bitgateHostResetSettings(void) {
  return change(true, "", [](Settings& s) { s = Settings{}; });
}

} // extern "C"
