// What fills memory that nobody has written yet, so that reading it shows.
#pragma once

namespace bitgate_host {

struct Poison {
  bool on = true;
  unsigned char byte = 0xFF;

  explicit operator bool() const { return on; }
};

} // namespace bitgate_host
