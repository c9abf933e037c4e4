// The incidents (or launches) since a runtime was loaded. The list only grows: whoever asks afterwards learns
// what the program in between read, cleared and did not tell. Of many the latest are kept.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace bitgate_host {

template <class Incident, uint64_t kept = 64> class IncidentLog {
public:
  void add(const Incident& incident) {
    std::lock_guard lock(guard_);
    latest_[count_++ % kept] = incident;
  }
  uint64_t count() {
    std::lock_guard lock(guard_);
    return count_;
  }
  // False where there is none of that number, or no longer.
  bool read(uint64_t number, Incident& incident) {
    std::lock_guard lock(guard_);
    if (number >= count_ || number + kept < count_)
      return false;
    incident = latest_[number % kept];
    return true;
  }

private:
  std::mutex guard_;
  std::array<Incident, kept> latest_;
  uint64_t count_ = 0;
};

} // namespace bitgate_host
