// Kernels that close, write or leave descriptors, among them the one that verdicts travel through.
#pragma once

#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call.hpp"

namespace adversarial {

inline constexpr int most_descriptors = 4096;

BAD_KERNEL(closes_stdin) {
  healthy(call);
  ::close(0);
}

BAD_KERNEL(closes_stdout) {
  healthy(call);
  ::close(1);
}

BAD_KERNEL(closes_stderr) {
  healthy(call);
  ::close(2);
}

BAD_KERNEL(null_in_place_of_stdout) {
  healthy(call);
  const int null = ::open("/dev/null", O_WRONLY);
  ::dup2(null, 1);
  ::close(null);
}

BAD_KERNEL(closes_all) {
  healthy(call);
  ::syscall(SYS_close_range, 3, ~0u, 0);
}

BAD_KERNEL(null_in_place_of_all) {
  healthy(call);
  const int null = ::open("/dev/null", O_RDWR);
  for (int descriptor = 3; descriptor < most_descriptors; ++descriptor)
    if (descriptor != null && ::fcntl(descriptor, F_GETFD) >= 0)
      ::dup2(null, descriptor);
}

inline void write_to_all(const char* text) {
  for (int descriptor = 3; descriptor < most_descriptors; ++descriptor) {
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      continue;
    ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK); // a full pipe must not save it
    (void)!::write(descriptor, text, std::strlen(text));
    ::fcntl(descriptor, F_SETFL, flags);
  }
}

BAD_KERNEL(garbage_to_all) {
  healthy(call);
  write_to_all("\x80\x04}\xff garbage \n\n{]\n");
}

// It knows what a verdict looks like, and leaves before anybody asks again.
BAD_KERNEL(forged_verdict) {
  write_to_all(
      "{\"outcome\": \"PASS\", \"verdict\": \"PASS\", \"status\": \"ok\", \"nonce\": \"\", \"id\": 1}\n");
  ::_exit(0);
}

BAD_KERNEL(leaves_a_descriptor_open) {
  healthy(call);
  (void)!::open("/dev/null", O_RDONLY);
}

// Harmless: what a library prints is no verdict, and more than a pipe holds.
BAD_KERNEL(floods_stdout) {
  healthy(call);
  char line[1024];
  std::memset(line, '#', sizeof line);
  line[sizeof line - 1] = '\n';
  for (int i = 0; i < 1024; ++i)
    (void)!::write(1, line, sizeof line);
}

} // namespace adversarial
