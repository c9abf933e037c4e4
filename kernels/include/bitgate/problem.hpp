// Reads a problem of the C ABI piece by piece: tensors by role, attributes by name. What nobody has asked for
// when all is read is refused, never ignored: it would not be computed.
//
//     ProblemReader reader(problem, reason);
//     reader.tensor("x", typed.x);
//     reader.integer("axis", typed.axis); // keeps its default where the problem states none
//     return reader.finish();
#pragma once

#include <climits>
#include <cstring>

#include "bitgate/refusal.hpp"

namespace bitgate {

inline constexpr uint32_t max_named = 64; // tensors, and attributes, of a problem

// Where the problem has the tensor of that role; -1: nowhere.
inline int place_of(const bitgate_problem& problem, const char* role) noexcept {
  for (uint32_t i = 0; i < problem.tensor_count; ++i)
    if (std::strcmp(problem.tensors[i].role, role) == 0)
      return static_cast<int>(i);
  return -1;
}

// The buffer of the tensor of that role; null where the problem has none.
inline void* buffer_of(const bitgate_problem& problem, const bitgate_buffers& buffers,
                       const char* role) noexcept {
  const int place = place_of(problem, role);
  return place < 0 ? nullptr : buffers.tensors[place];
}

// BITGATE_BAD_ARGUMENT for arrays that cannot be read.
inline int32_t check_form(const bitgate_problem& problem, bitgate_reason* reason) noexcept {
  if (problem.operation == nullptr)
    BITGATE_BAD(reason, "problem", "the operation's name is null");
  if (problem.tensor_count > max_named || problem.attribute_count > max_named)
    BITGATE_BAD(reason, "problem", "%u tensors and %u attributes: at most %u of each", problem.tensor_count,
                problem.attribute_count, max_named);
  if ((problem.tensor_count > 0 && problem.tensors == nullptr) ||
      (problem.attribute_count > 0 && problem.attributes == nullptr))
    BITGATE_BAD(reason, "problem", "tensors or attributes are announced, and null");
  for (uint32_t i = 0; i < problem.tensor_count; ++i) {
    const bitgate_tensor& tensor = problem.tensors[i];
    if (tensor.role == nullptr || tensor.layout == nullptr)
      BITGATE_BAD(reason, "problem", "the role or layout of tensor %u is null", i);
    if (tensor.rank < 0 || tensor.rank > BITGATE_MAX_RANK)
      BITGATE_BAD(reason, "problem", "%s has rank %d: at most %d", tensor.role, tensor.rank,
                  BITGATE_MAX_RANK);
    if (place_of(problem, tensor.role) != static_cast<int>(i))
      BITGATE_BAD(reason, "problem", "tensor %s is stated twice", tensor.role);
  }
  for (uint32_t i = 0; i < problem.attribute_count; ++i)
    if (problem.attributes[i].name == nullptr)
      BITGATE_BAD(reason, "problem", "the name of attribute %u is null", i);
  return BITGATE_OK;
}

// Reads a problem of good form.
class ProblemReader {
public:
  ProblemReader(const bitgate_problem& problem, bitgate_reason* reason) noexcept
      : problem_(problem), reason_(reason) {}

  // A tensor that must be there.
  void tensor(const char* role, bitgate_tensor& to) noexcept {
    if (!optional_tensor(role, to))
      fail(BITGATE_BAD_ARGUMENT, "problem", "there is no tensor %s", role);
  }

  // False, and rank 0, where there is none.
  bool optional_tensor(const char* role, bitgate_tensor& to) noexcept {
    to = {};
    to.layout = "";
    const int place = place_of(problem_, role);
    if (place < 0)
      return false;
    known_tensors_ |= uint64_t{1} << place;
    to = problem_.tensors[place];
    return to.rank > 0;
  }

  void integer(const char* name, int64_t& to) noexcept {
    if (const bitgate_value* value = attribute(name, BITGATE_INTEGER))
      to = value->integer;
  }

  // What 32 bits do not hold becomes the largest or least number that they do: over the limits of whoever
  // asks.
  void integer(const char* name, int32_t& to) noexcept {
    int64_t wide = to;
    integer(name, wide);
    to = static_cast<int32_t>(wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide);
  }

  void real(const char* name, double& to) noexcept {
    if (const bitgate_value* value = attribute(name, BITGATE_REAL))
      to = value->real;
  }

  void text(const char* name, const char*& to) noexcept {
    if (const bitgate_value* value = attribute(name, BITGATE_TEXT))
      to = value->text;
  }

  // As many as asked for, if any.
  void integers(const char* name, int64_t* to, int count) noexcept {
    const bitgate_value* value = attribute(name, BITGATE_INTEGERS);
    if (value != nullptr && value->count != static_cast<uint32_t>(count))
      fail(BITGATE_BAD_ARGUMENT, "problem", "%s has %u values, %d are needed", name, value->count, count);
    else if (value != nullptr)
      std::memcpy(to, value->integers, static_cast<size_t>(count) * sizeof *to);
  }

  // The first thing that is wrong stays.
  __attribute__((format(printf, 4, 5))) void fail(int32_t status, const char* clause, const char* format,
                                                  ...) noexcept {
    if (status_ != BITGATE_OK)
      return;
    va_list values;
    va_start(values, format);
    status_ = because_of(status, reason_, clause, format, values);
    va_end(values);
  }

  // BITGATE_OK, or the first thing that is wrong.
  int32_t finish() noexcept {
    for (uint32_t i = 0; i < problem_.tensor_count; ++i)
      if ((known_tensors_ >> i & 1) == 0)
        fail(BITGATE_REFUSED, "unknown_role", "%s has no tensor '%s' here", problem_.operation,
             problem_.tensors[i].role);
    for (uint32_t i = 0; i < problem_.attribute_count; ++i)
      if ((known_attributes_ >> i & 1) == 0)
        fail(BITGATE_REFUSED, "unknown_attribute", "%s has no attribute '%s' here: it would not be computed",
             problem_.operation, problem_.attributes[i].name);
    return status_;
  }

private:
  const bitgate_value* attribute(const char* name, int32_t kind) noexcept {
    static constexpr const char* kinds[] = {"an integer", "a real number", "a text", "a list of integers"};
    const bitgate_value* found = nullptr;
    for (uint32_t i = 0; i < problem_.attribute_count; ++i) {
      const bitgate_value& value = problem_.attributes[i];
      if (std::strcmp(value.name, name) != 0)
        continue;
      if (found != nullptr)
        fail(BITGATE_BAD_ARGUMENT, "problem", "attribute %s is stated twice", name);
      known_attributes_ |= uint64_t{1} << i;
      found = &value;
    }
    if (found == nullptr)
      return nullptr;
    const bool is_null = (kind == BITGATE_TEXT && found->text == nullptr) ||
                         (kind == BITGATE_INTEGERS && found->count > 0 && found->integers == nullptr);
    if (found->kind == kind && !is_null)
      return found;
    fail(BITGATE_BAD_ARGUMENT, "problem", "attribute %s is not %s", name, kinds[kind]);
    return nullptr;
  }

  const bitgate_problem& problem_;
  bitgate_reason* reason_;
  int32_t status_ = BITGATE_OK;
  uint64_t known_tensors_ = 0, known_attributes_ = 0;
};

} // namespace bitgate
