// What a family consists of: its name and options, stated once, and its instances, each registered from the
// translation unit of its group by a static `Registration`.
//
// An instance is written for problems of one type (bitgate/conv.hpp, bitgate/gemm.hpp), which has
//     int32_t read(const bitgate_problem&, Problem&, bitgate_reason*)   what the C ABI states of one
//     Problem::Buffers, read_buffers(const bitgate_problem&, const bitgate_buffers&, Buffers&)
//     Problem::begin(bitgate_dispatch_record&), if a record has facts that hold unless a kernel says
//     otherwise
#pragma once

#include <cstring>

#include "bitgate/abi.h"
#include "bitgate/launch.hpp"
#include "bitgate/options.hpp"

namespace bitgate {

// One call as an instance sees it.
template <class Problem> struct Request {
  const Problem& problem;
  const Options& options;
};

// What an instance says of itself. Zeros are not stated, but for wave_size: any.
struct Described {
  const char* name;
  const char* operation;
  const char* dtypes;
  const char* layouts;
  const char* accumulator;
  int64_t tile[3];
  int64_t vector[3]; // elements a thread moves at once: A, B, C
  int32_t block_size;
  int32_t wave_size; // 0: any
  int64_t fragment[3];
  int64_t lds_bytes;
};

// The same as named values, what is zero left out.
class InstanceFacts {
public:
  // Points into `of`, which has to stay.
  void state(const Described& of) noexcept {
    text("dtypes", of.dtypes), text("layouts", of.layouts), text("accumulator", of.accumulator);
    three("tile", of.tile), three("vector", of.vector), three("fragment", of.fragment);
    integer("block_size", of.block_size), integer("wave_size", of.wave_size);
    if (of.lds_bytes != 0)
      integer("lds_bytes", of.lds_bytes);
  }
  const bitgate_value* values() const noexcept { return values_; }
  uint32_t count() const noexcept { return count_; }

private:
  void text(const char* name, const char* text) noexcept { add(name, BITGATE_TEXT).text = text; }
  void integer(const char* name, int64_t number) noexcept { add(name, BITGATE_INTEGER).integer = number; }
  void three(const char* name, const int64_t (&numbers)[3]) noexcept {
    if (numbers[0] == 0)
      return;
    bitgate_value& value = add(name, BITGATE_INTEGERS);
    value.integers = numbers, value.count = 3;
  }
  bitgate_value& add(const char* name, int32_t kind) noexcept {
    bitgate_value& value = values_[count_++];
    value.name = name, value.kind = kind;
    return value;
  }

  bitgate_value values_[9] = {};
  uint32_t count_ = 0;
};

template <class Problem> struct Instance : Described {
  // BITGATE_OK, or BITGATE_REFUSED with the clause, or BITGATE_BAD_ARGUMENT for a problem that contradicts
  // itself.
  int32_t (*supports)(const Request<Problem>& request, bitgate_reason* reason);
  int64_t (*workspace_bytes)(const Request<Problem>& request);
  // Called for supported problems only. Launches through the context, writes the rest of the record.
  void (*run)(const Request<Problem>& request, const typename Problem::Buffers& buffers, Context& context);
};

struct Family {
  const char* name;
  const Option* options;
  int option_count;
};

// Defined in the family's library.hip.cpp.
BITGATE_HIDDEN extern const Family family;

// An instance in this library's list, for problems as the C ABI states them.
class BITGATE_HIDDEN Registered {
public:
  const Registered* next() const noexcept { return next_; }
  static const Registered* first() noexcept { return first_; }
  const InstanceFacts& facts() const noexcept { return facts_; }

  virtual const Described& described() const noexcept = 0;
  virtual int32_t supports(const bitgate_problem& problem, const Options& options,
                           bitgate_reason* reason) const = 0;
  // Of supported problems.
  virtual int64_t workspace_bytes(const bitgate_problem& problem, const Options& options) const = 0;
  virtual void run(const bitgate_problem& problem, const Options& options, const bitgate_buffers& buffers,
                   Context& context) const = 0;

protected:
  Registered() noexcept : next_(first_) { first_ = this; }
  Registered(const Registered&) = delete;
  ~Registered() = default;
  InstanceFacts facts_;

private:
  const Registered* next_;
  static inline const Registered* first_ = nullptr;
};

// Links an instance into this library's list.
template <class Problem> class BITGATE_HIDDEN Registration final : public Registered {
public:
  [[gnu::noinline]] explicit Registration(const Instance<Problem>& described) noexcept
      : instance_(described) {
    facts_.state(instance_);
  }

  const Described& described() const noexcept override { return instance_; }

  int32_t supports(const bitgate_problem& problem, const Options& options,
                   bitgate_reason* reason) const override {
    Problem typed{};
    const int32_t status = read(problem, typed, reason);
    return status == BITGATE_OK ? instance_.supports({typed, options}, reason) : status;
  }

  int64_t workspace_bytes(const bitgate_problem& problem, const Options& options) const override {
    Problem typed{};
    read(problem, typed, nullptr);
    return instance_.workspace_bytes({typed, options});
  }

  void run(const bitgate_problem& problem, const Options& options, const bitgate_buffers& buffers,
           Context& context) const override {
    Problem typed{};
    typename Problem::Buffers pointers{};
    read(problem, typed, nullptr);
    read_buffers(problem, buffers, pointers);
    if constexpr (requires { Problem::begin(context.record); })
      Problem::begin(context.record);
    instance_.run({typed, options}, pointers, context);
  }

private:
  Instance<Problem> instance_;
};

inline const Registered* find_instance(const char* name) noexcept {
  for (const Registered* at = Registered::first(); at != nullptr; at = at->next())
    if (std::strcmp(at->described().name, name) == 0)
      return at;
  return nullptr;
}

template <class Problem> int64_t no_workspace(const Request<Problem>&) {
  return 0;
}

} // namespace bitgate
