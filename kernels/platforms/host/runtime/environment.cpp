#include "environment.hpp"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace bitgate_host {
namespace {

[[noreturn]] void refuse(const char* name, const char* text, const char* accepted) {
  char shown[41] = ""; // on one line, whatever it holds
  for (size_t i = 0; i + 1 < sizeof shown && text[i] != 0; ++i)
    shown[i] = std::isprint(static_cast<unsigned char>(text[i])) ? text[i] : '?';
  std::fprintf(stderr, "bitgate: %s=%s: give %s\n", name, shown, accepted);
  std::fflush(stderr);
  _exit(2);
}

// The whole text as a number, in which the first character is a digit, so no sign, blank, infinity or NaN.
template <class Number> bool isNumber(const char* text, Number& number) {
  if (!std::isdigit(static_cast<unsigned char>(*text)))
    return false;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, number);
  return error == std::errc{} && stopped == end;
}

template <class Number> Number read(const char* name, Number least, Number most, const char* accepted) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0)
    return 0;
  Number number = 0;
  if (!isNumber(text, number) || number < least || number > most)
    refuse(name, text, accepted);
  return number;
}

} // namespace

unsigned threadsInEnvironment() {
  return read("BITGATE_THREADS", 1u, 1024u, "a number from 1 to 1024");
}

const char* pretendedGpu() {
  const char* text = std::getenv("BITGATE_HOST_PRETEND_GPU");
  if (text == nullptr || *text == 0)
    return nullptr;
  if (std::strncmp(text, "gfx", 3) != 0 || std::strlen(text) > 80)
    refuse("BITGATE_HOST_PRETEND_GPU", text, "a gfx target");
  return text;
}

double spinSecondsInEnvironment() {
  return read("BITGATE_SPIN_SECONDS", 1e-300, 1e6, "seconds, more than 0 and at most 1000000");
}

} // namespace bitgate_host
