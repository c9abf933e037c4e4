// What a case needs to run by itself, without bitgate: buffers out of files, launches out of their recorded
// arguments, and a comparison that names the wrong cells. A standalone capsule is this, the kernel's headers
// and a main() of a few tables in one file (harness/bitgate/tools/capsule/standalone.py).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bitgate/dtype.hpp"
#include "bitgate/number.hpp"
#include "bitgate/platform.hpp"

// nvcc's own runtime, so that no other library is needed.
#if defined(BITGATE_PLATFORM_NVIDIA)
#define BITGATE_GPU(name) cuda##name
#else
#define BITGATE_GPU(name) hip##name
#endif

namespace bitgate::standalone {

using Bytes = std::vector<uint8_t>;

[[noreturn]] inline void stop(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(2);
}

template <class Error> void check(Error error, const char* call) {
  if (static_cast<int>(error) != 0)
    stop(std::string(call) + ": " + BITGATE_GPU(GetErrorString)(error));
}

// A file of so many bytes: one that was cut is read by nobody.
inline Bytes file(const char* name, size_t size) {
  std::FILE* stream = std::fopen(name, "rb");
  if (stream == nullptr)
    stop(std::string(name) + ": cannot be opened; run this in the folder of the data");
  std::fseek(stream, 0, SEEK_END);
  Bytes bytes(static_cast<size_t>(std::ftell(stream)));
  std::rewind(stream);
  if (std::fread(bytes.data(), 1, bytes.size(), stream) != bytes.size())
    stop(std::string(name) + ": cannot be read");
  std::fclose(stream);
  if (bytes.size() != size)
    stop(std::string(name) + ": " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(size) +
         ": it was changed; unpack or write this folder again");
  return bytes;
}

// "00ff" as bytes.
inline Bytes hex(const char* digits) {
  Bytes bytes;
  for (; digits[0] != 0; digits += 2) {
    const char pair[3] = {digits[0], digits[1], 0};
    bytes.push_back(static_cast<uint8_t>(std::strtol(pair, nullptr, 16)));
  }
  return bytes;
}

// Device memory, and what it held before the first step.
class Buffer {
public:
  Buffer(const char* name, Bytes before) : name(name), before(std::move(before)) {
    check(BITGATE_GPU(Malloc)(reinterpret_cast<void**>(&device_), this->before.size()), "Malloc");
    check(BITGATE_GPU(Memcpy)(device_, this->before.data(), this->before.size(),
                              BITGATE_GPU(MemcpyHostToDevice)),
          "Memcpy");
  }
  // `pattern`, over and over.
  Buffer(const char* name, size_t bytes, const char* pattern) : Buffer(name, repeated(bytes, hex(pattern))) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { (void)BITGATE_GPU(Free)(device_); }

  uint8_t* at(size_t offset) const { return device_ + offset; }
  Bytes now() const {
    Bytes bytes(before.size());
    check(BITGATE_GPU(Memcpy)(bytes.data(), device_, bytes.size(), BITGATE_GPU(MemcpyDeviceToHost)),
          "Memcpy");
    return bytes;
  }

  const char* const name;
  const Bytes before;

private:
  static Bytes repeated(size_t bytes, const Bytes& pattern) {
    Bytes whole(bytes);
    for (size_t i = 0; i < bytes; ++i)
      whole[i] = pattern[i % pattern.size()];
    return whole;
  }
  uint8_t* device_ = nullptr;
};

inline void finish(const char* what) {
  check(BITGATE_GPU(DeviceSynchronize)(), what);
}

// A recorded argument block: explicit arguments at their natural alignment, in order.
class Arguments {
public:
  explicit Arguments(const char* digits) : bytes_(hex(digits)) {}
  // The address of a byte of a buffer, as an argument.
  Arguments& pointer(size_t offset, const Buffer& buffer, size_t to) {
    const uint8_t* address = buffer.at(to);
    std::memcpy(bytes_.data() + offset, &address, sizeof address);
    return *this;
  }
  template <class Param> Param take(size_t& end) const {
    const size_t offset = (end + alignof(Param) - 1) / alignof(Param) * alignof(Param);
    end = offset + sizeof(Param);
    alignas(Param) uint8_t copy[sizeof(Param)];
    std::memcpy(copy, bytes_.data() + offset, sizeof copy);
    return *reinterpret_cast<const Param*>(copy);
  }

private:
  Bytes bytes_;
};

// One launch, waited for. `wave`: lanes of a wave, which only bitgate's host runtime has to be told.
template <class... Params>
void start(const char* name, void (*kernel)(Params...), dim3 grid, dim3 block, size_t lds,
           [[maybe_unused]] unsigned wave, const Arguments& recorded) {
  size_t end = 0;
  std::tuple<Params...> arguments{recorded.take<Params>(end)...}; // braces: from left to right
  std::apply(
      [&](Params&... values) {
#if defined(BITGATE_PLATFORM_HOST)
        check(bitgate_host::launch(name, kernel, grid, block, lds, nullptr, wave, values...), name);
#else
        void* addresses[] = {static_cast<void*>(&values)...};
        check(BITGATE_GPU(LaunchKernel)(reinterpret_cast<const void*>(kernel), grid, block, addresses, lds,
                                        nullptr),
              name);
#endif
      },
      arguments);
  finish(name);
}

inline void memset_bytes(const Buffer& to, size_t offset, int value, size_t bytes) {
  check(BITGATE_GPU(Memset)(to.at(offset), value, bytes), "Memset");
}
inline void copy_bytes(const Buffer& to, size_t offset, const Buffer& from, size_t source, size_t bytes) {
  check(BITGATE_GPU(Memcpy)(to.at(offset), from.at(source), bytes, BITGATE_GPU(MemcpyDeviceToDevice)),
        "Memcpy");
}

// How a cell is read: its type, and its place by the tensor's axes.
struct Tensor {
  int32_t dtype;
  std::vector<int64_t> lengths, strides; // in elements

  int64_t cells() const {
    int64_t count = 1;
    for (const int64_t length : lengths)
      count *= length;
    return count;
  }
  std::vector<int64_t> index(int64_t cell) const {
    std::vector<int64_t> at(lengths.size());
    for (size_t axis = lengths.size(); axis-- > 0; cell /= lengths[axis])
      at[axis] = cell % lengths[axis];
    return at;
  }
  int64_t element(const std::vector<int64_t>& at) const {
    int64_t element = 0;
    for (size_t axis = 0; axis < at.size(); ++axis)
      element += at[axis] * strides[axis];
    return element;
  }
};

template <class T> double value_of(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(widen(value));
}

// The type of a code, that of sums of integers too.
template <int32_t code> struct TypeOf : ElementOf<code> {};
template <> struct TypeOf<BITGATE_I32> : std::type_identity<int32_t> {};

template <int32_t... codes>
double number(int32_t dtype, const uint8_t* bytes, std::integer_sequence<int32_t, codes...>) {
  double found = 0;
  ((dtype == codes && (found = value_of<typename TypeOf<codes>::type>(bytes), true)) || ...);
  return found;
}

inline double number(int32_t dtype, const uint8_t* bytes) {
  return number(dtype, bytes, std::make_integer_sequence<int32_t, dtype_count>());
}

// Where bits need not agree: each cell may be `slack` away from `value`, but those of `exact` are compared by
// bits, those of `open` not at all, and those of `nan` may be NaN. Infinite is right, with the sign, where
// the bound passes `largest`. Empty `value`: bits decide everywhere, and with `any_nan` every NaN but the
// poison is as good as another.
struct Tolerance {
  bool any_nan = false;
  Bytes poison, value, slack, exact, open, nan;
  double largest = 0;

  bool takes(int64_t cell, int32_t dtype, const uint8_t* got, const uint8_t* expected) const {
    const size_t size = static_cast<size_t>(dtype_bytes(dtype)), at = static_cast<size_t>(cell);
    if (std::memcmp(got, expected, size) == 0)
      return true;
    const double found = number(dtype, got);
    if (value.empty())
      return any_nan && std::isnan(found) && std::isnan(number(dtype, expected)) &&
             std::memcmp(got, poison.data(), size) != 0;
    if (exact[at])
      return false;
    if (open[at] || (nan[at] && std::isnan(found)))
      return true;
    const double wanted = value_of<double>(&value[at * 8]), room = value_of<double>(&slack[at * 8]);
    if (std::isnan(wanted))
      return std::isnan(found);
    if (std::isinf(wanted) || std::isinf(found))
      return std::isinf(found) ? std::signbit(found) == std::signbit(wanted) &&
                                     (std::isinf(wanted) || std::fabs(wanted) + room > largest)
                               : false;
    return std::fabs(found - wanted) <= room;
  }
};

// Prints the wrong cells of a result, `most` of them, and returns how many there are.
inline int64_t compare(const Buffer& result, const Tensor& tensor, const Bytes& expected,
                       const Tolerance& tolerance, int64_t most) {
  const Bytes got = result.now();
  const size_t size = static_cast<size_t>(dtype_bytes(tensor.dtype));
  std::vector<bool> is_cell(got.size());
  int64_t wrong = 0;
  for (int64_t cell = 0; cell < tensor.cells(); ++cell) {
    const std::vector<int64_t> at = tensor.index(cell);
    const size_t byte = static_cast<size_t>(tensor.element(at)) * size;
    for (size_t i = 0; i < size; ++i)
      is_cell[byte + i] = true;
    if (tolerance.takes(cell, tensor.dtype, &got[byte], &expected[byte]))
      continue;
    if (++wrong > most)
      continue;
    std::printf("%s[", result.name);
    for (size_t axis = 0; axis < at.size(); ++axis)
      std::printf(axis ? ",%lld" : "%lld", static_cast<long long>(at[axis]));
    std::printf("] = %g, expected %g\n", number(tensor.dtype, &got[byte]),
                number(tensor.dtype, &expected[byte]));
  }
  std::printf("%s: %lld of %lld cells are wrong\n", result.name, static_cast<long long>(wrong),
              static_cast<long long>(tensor.cells()));
  for (size_t byte = 0; byte < got.size(); ++byte)
    if (!is_cell[byte] && got[byte] != result.before[byte]) {
      std::printf("%s: byte %zu, in a gap between its rows, was written\n", result.name, byte);
      return wrong + 1;
    }
  return wrong;
}

// 1 if the launches changed an input.
inline int64_t changed(const Buffer& input) {
  const Bytes now = input.now();
  for (size_t byte = 0; byte < now.size(); ++byte)
    if (now[byte] != input.before[byte]) {
      std::printf("%s: byte %zu of this input was changed\n", input.name, byte);
      return 1;
    }
  return 0;
}

// The wrong cells to print: 20, or as many as the command line says.
inline int64_t most_of(int argc, char** argv) {
  return argc > 1 ? std::atoll(argv[1]) : 20;
}

} // namespace bitgate::standalone
