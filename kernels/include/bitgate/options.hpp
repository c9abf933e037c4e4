// Named options of a family: thresholds that pick a path, with the production value as default.
#pragma once

#include <cstdlib>
#include <cstring>

#include "bitgate/refusal.hpp"

namespace bitgate {

// `values`: comma-separated words, or "int" with the range least..most.
struct Option {
  const char* name;
  const char* values;
  const char* production;
  const char* help;
  int64_t least = 0, most = 0;

  bool is_integer() const noexcept { return std::strcmp(values, "int") == 0; }
};

inline constexpr int max_options = 16;

// True if `word` is one of the words of the comma-separated `list`.
inline bool is_listed(const char* list, const char* word) noexcept {
  const size_t length = std::strlen(word);
  for (const char* at = list; *at != 0;) {
    const char* end = std::strchr(at, ',');
    const size_t size = end ? static_cast<size_t>(end - at) : std::strlen(at);
    if (size == length && std::strncmp(at, word, size) == 0)
      return true;
    at += size + (end ? 1 : 0);
  }
  return false;
}

// The values of one call: what the caller named, production for the rest.
class Options {
public:
  Options(const Option* specs, int count) noexcept
      : specs_(specs), count_(count < max_options ? count : max_options) {
    for (int i = 0; i < count_; ++i)
      values_[i] = specs_[i].production;
  }

  // BITGATE_OK, or BITGATE_BAD_ARGUMENT with a reason that lists what is known.
  int32_t read(const bitgate_options* given, bitgate_reason* reason) noexcept {
    if (given == nullptr)
      return BITGATE_OK;
    if (given->struct_size != sizeof(bitgate_options))
      BITGATE_BAD(reason, "struct_size", "bitgate_options has %zu bytes here, the caller says %u",
                  sizeof(bitgate_options), given->struct_size);
    if (given->count > 0 && given->items == nullptr)
      BITGATE_BAD(reason, "options", "%u options are announced, items is null", given->count);
    for (uint32_t i = 0; i < given->count; ++i)
      if (const int32_t status = set(given->items[i], reason); status != BITGATE_OK)
        return status;
    return BITGATE_OK;
  }

  // `name` must be an option of the family.
  bool is(const char* name, const char* value) const noexcept { return std::strcmp(text(name), value) == 0; }
  int64_t integer(const char* name) const noexcept { return std::strtoll(text(name), nullptr, 10); }

private:
  const char* text(const char* name) const noexcept {
    for (int i = 0; i < count_; ++i)
      if (std::strcmp(specs_[i].name, name) == 0)
        return values_[i];
    return "";
  }

  int32_t set(const bitgate_option& option, bitgate_reason* reason) noexcept {
    if (option.name == nullptr || option.value == nullptr)
      BITGATE_BAD(reason, "options", "an option's name or value is null");
    for (int i = 0; i < count_; ++i) {
      if (std::strcmp(specs_[i].name, option.name) != 0)
        continue;
      values_[i] = option.value;
      return check(specs_[i], option.value, reason);
    }
    char known[128] = "";
    for (int i = 0; i < count_; ++i) {
      const size_t used = std::strlen(known);
      std::snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", specs_[i].name);
    }
    BITGATE_BAD(reason, "options", "unknown option '%s': known are %s", option.name, count_ ? known : "none");
  }

  static int32_t check(const Option& spec, const char* value, bitgate_reason* reason) noexcept {
    if (!spec.is_integer()) {
      if (is_listed(spec.values, value))
        return BITGATE_OK;
      BITGATE_BAD(reason, "options", "option %s has no value '%s': known are %s", spec.name, value,
                  spec.values);
    }
    char* end = nullptr;
    const long long number = std::strtoll(value, &end, 10);
    if (end == value || *end != 0 || number < spec.least || number > spec.most)
      BITGATE_BAD(reason, "options", "option %s = '%s' is not an integer of %lld..%lld", spec.name, value,
                  static_cast<long long>(spec.least), static_cast<long long>(spec.most));
    return BITGATE_OK;
  }

  const Option* specs_;
  int count_;
  const char* values_[max_options] = {};
};

} // namespace bitgate
