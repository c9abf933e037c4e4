// Kernels whose bits are right and who lie about what they take and what ran.
#pragma once

#include <cstring>

#include "visit.hpp"

namespace museum {

EXHIBIT(says_two_launches) {
  healthy(visit);
  visit.context.record.launches = 2;
}

EXHIBIT(says_nine_sub_gemms) {
  healthy(visit);
  bitgate::note(visit.context.record, "gemms_count", 9);
}

EXHIBIT(says_another_path) {
  healthy(visit);
  std::strcpy(visit.context.record.path, "flat");
}

EXHIBIT(record_without_ends_of_text) {
  healthy(visit);
  std::memset(visit.context.record.path, 'x', sizeof visit.context.record.path);
  std::memset(visit.context.record.instance, 'x', sizeof visit.context.record.instance);
}

EXHIBIT(record_of_an_unknown_event) {
  healthy(visit);
  if (visit.context.record.events != nullptr)
    visit.context.record.events[0].kind = 77;
}

EXHIBIT(record_that_points_nowhere) {
  healthy(visit);
  visit.context.record.parts = reinterpret_cast<int64_t*>(8);
}

static int32_t refuses_all(const bitgate::ConvRequest&, bitgate_reason* reason) {
  BITGATE_REFUSE(reason, "mood", "not today");
}
static const bitgate::ConvRegistration refuses_what_it_declares{
    described("refuses_what_it_declares", run<healthy>, refuses_all)};

// It takes the problem until its workspace is known, and is then not ready to run it.
static bool was_sized = false;

static int32_t refuses_at_last(const bitgate::ConvRequest& request, bitgate_reason* reason) {
  if (was_sized) {
    was_sized = false;
    BITGATE_REFUSE(reason, "mood", "not after all");
  }
  return supports(request, reason);
}

static int64_t sizes_and_remembers(const bitgate::ConvRequest&) {
  was_sized = true;
  return 0;
}
static const bitgate::ConvRegistration refuses_when_it_is_run{
    described("refuses_when_it_is_run", run<healthy>, refuses_at_last, sizes_and_remembers)};

static int32_t answers_with_99(const bitgate::ConvRequest&, bitgate_reason*) {
  return 99;
}
static const bitgate::ConvRegistration unknown_status{
    described("unknown_status", run<healthy>, answers_with_99)};

} // namespace museum
