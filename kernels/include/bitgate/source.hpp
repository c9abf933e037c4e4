// Plain __global__ functions of a user's source, launched as a list of integers states: the attribute
// "bitgate.launches" of the problem. bitgate.kernel.launch_list writes the list, and
// bitgate.kernel.source_unit the one translation unit that includes this header.
//
//   workspace bytes, number of steps, then the steps:
//     kernel, grid x y z, block x y z, LDS bytes, number of arguments, then the arguments:
//       0, bytes, words of 8 bytes      a value
//       1, tensor, bytes from its begin a pointer; tensor -1: the workspace, -2: null
//     -1, tensor, bytes                 a fill with zeros
#pragma once

#include <string>
#include <vector>

#include "bitgate/library.hpp"

namespace bitgate {

inline constexpr const char* launches_attribute = "bitgate.launches";

namespace detail {

// Appends what a parameter is: "f4@4" a float, "c:f4@4" a const float*, "p:v0@0" a void*, "s24@8" a struct.
template <class Type> void describe_type(std::string& to) {
  using Plain = std::remove_cv_t<Type>;
  if constexpr (std::is_pointer_v<Plain>) {
    using Target = std::remove_pointer_t<Plain>;
    to += std::is_const_v<Target> ? "c:" : "p:";
    if constexpr (std::is_void_v<Target> || std::is_function_v<Target>)
      to += "v0@0";
    else
      describe_type<Target>(to);
  } else if constexpr (std::is_enum_v<Plain>) {
    describe_type<std::underlying_type_t<Plain>>(to);
  } else {
    to += std::is_same_v<Plain, bool>       ? 'b'
          : std::is_floating_point_v<Plain> ? 'f'
          : std::is_unsigned_v<Plain>       ? 'u'
          : std::is_integral_v<Plain>       ? 'i'
                                            : 's';
    to += std::to_string(sizeof(Plain)) + "@" + std::to_string(alignof(Plain));
  }
}

// Where a list was read, and whether it ended too early.
class LaunchReader {
public:
  LaunchReader(const int64_t* at, uint32_t count) noexcept : at_(at), end_(at + count) {}
  int64_t next() noexcept {
    if (at_ < end_)
      return *at_++;
    is_cut_ = true;
    return 0;
  }
  bool is_cut() const noexcept { return is_cut_; }
  bool is_done() const noexcept { return at_ == end_ && !is_cut_; }

private:
  const int64_t *at_, *end_;
  bool is_cut_ = false;
};

} // namespace detail

// A kernel that the unit lists. Its parameters are those of the function.
class SourceKernel {
public:
  template <class... Params>
  SourceKernel(const char* name, void (*kernel)(Params...))
      : name_(name), function_(reinterpret_cast<uint64_t>(kernel)), start_(start<Params...>) {
    static_assert(sizeof(std::tuple<Params...>) <= max_kernarg_bytes, "kernel arguments are at most 4 KiB");
    static_assert((std::is_trivially_copyable_v<Params> && ...), "kernel parameters are copied bytewise");
    detail::KernargLayout layout;
    (add<Params>(layout), ...);
  }

  struct Parameter {
    uint32_t offset, size;
    bool is_pointer;
  };
  const char* name() const noexcept { return name_; }
  const std::string& described() const noexcept { return described_; }
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  void launch(Context& context, dim3 grid, dim3 block, size_t lds_bytes, const uint8_t* kernargs) const {
    start_(context, name_, function_, grid, block, lds_bytes, kernargs);
  }

private:
  template <class Param> void add(detail::KernargLayout& layout) {
    const uint32_t offset = layout.place(sizeof(Param), alignof(Param));
    parameters_.push_back({offset, sizeof(Param), std::is_pointer_v<Param>});
    described_ += described_.empty() ? "" : ",";
    detail::describe_type<Param>(described_);
  }

  template <class... Params>
  static void start(Context& context, const char* name, uint64_t function, dim3 grid, dim3 block,
                    size_t lds_bytes, [[maybe_unused]] const uint8_t* kernargs) {
    [[maybe_unused]] detail::KernargLayout layout;
    const std::tuple<Params...> arguments{detail::take_argument<Params>(layout, kernargs)...};
    std::apply(
        [&](const Params&... values) {
          bitgate::launch(context, name, reinterpret_cast<void (*)(Params...)>(function), grid, block,
                          lds_bytes, values...);
        },
        arguments);
  }

  const char* name_;
  uint64_t function_;
  void (*start_)(Context&, const char*, uint64_t, dim3, dim3, size_t, const uint8_t*);
  std::string described_;
  std::vector<Parameter> parameters_;
};

// The kernels that the generated unit lists.
struct SourceKernels {
  const SourceKernel* first;
  uint32_t count;
};
BITGATE_HIDDEN extern const SourceKernels source_kernels;

// An instance whose launches the problem itself states.
class BITGATE_HIDDEN SourceInstance final : public Registered {
public:
  SourceInstance(const char* name, const char* operation, int32_t wave_size) noexcept {
    described_.name = name, described_.operation = operation, described_.wave_size = wave_size;
  }

  const Described& described() const noexcept override { return described_; }

  int32_t supports(const bitgate_problem& problem, const Options&, bitgate_reason* reason) const override {
    const bitgate_value* list = list_of(problem);
    if (list == nullptr)
      BITGATE_BAD(reason, "launches", "the problem has no list of launches: %s", launches_attribute);
    if (!walk(*list, problem, nullptr, nullptr))
      BITGATE_BAD(reason, "launches", "the list of launches does not fit the kernels of this library");
    return BITGATE_OK;
  }

  int64_t workspace_bytes(const bitgate_problem& problem, const Options&) const override {
    return list_of(problem)->integers[0];
  }

  void run(const bitgate_problem& problem, const Options&, const bitgate_buffers& buffers,
           Context& context) const override {
    std::snprintf(context.record.path, sizeof context.record.path, "source");
    walk(*list_of(problem), problem, &buffers, &context);
  }

private:
  static const bitgate_value* list_of(const bitgate_problem& problem) noexcept {
    for (uint32_t i = 0; i < problem.attribute_count; ++i) {
      const bitgate_value& value = problem.attributes[i];
      if (std::strcmp(value.name, launches_attribute) == 0)
        return value.kind == BITGATE_INTEGERS && value.count > 1 ? &value : nullptr;
    }
    return nullptr;
  }

  // Reads the list, and carries it out where there is a context. False for a list that is none.
  static bool walk(const bitgate_value& list, const bitgate_problem& problem, const bitgate_buffers* buffers,
                   Context* context) {
    detail::LaunchReader reader(list.integers, list.count);
    reader.next(); // the workspace
    const int64_t steps = reader.next();
    for (int64_t step = 0; step < steps && !reader.is_cut(); ++step) {
      const int64_t kernel = reader.next();
      const bool is_sound = kernel == -1
                                ? fill(reader, problem, buffers, context)
                                : kernel >= 0 && kernel < source_kernels.count &&
                                      launch(source_kernels.first[kernel], reader, problem, buffers, context);
      if (!is_sound)
        return false;
    }
    return reader.is_done();
  }

  static bool launch(const SourceKernel& kernel, detail::LaunchReader& reader, const bitgate_problem& problem,
                     const bitgate_buffers* buffers, Context* context) {
    unsigned shape[6];
    for (unsigned& size : shape)
      size = static_cast<unsigned>(reader.next());
    const auto lds_bytes = static_cast<size_t>(reader.next());
    if (reader.next() != static_cast<int64_t>(kernel.parameters().size()))
      return false;
    alignas(16) uint8_t kernargs[max_kernarg_bytes] = {};
    for (const SourceKernel::Parameter& parameter : kernel.parameters())
      if (!argument(parameter, reader, problem, buffers, kernargs))
        return false;
    if (context == nullptr)
      return true;
    kernel.launch(*context, dim3(shape[0], shape[1], shape[2]), dim3(shape[3], shape[4], shape[5]), lds_bytes,
                  kernargs);
    ++context->record.launches;
    return true;
  }

  static bool argument(const SourceKernel::Parameter& parameter, detail::LaunchReader& reader,
                       const bitgate_problem& problem, const bitgate_buffers* buffers, uint8_t* kernargs) {
    if ((reader.next() == 1) != parameter.is_pointer)
      return false;
    uint8_t* to = kernargs + parameter.offset;
    if (!parameter.is_pointer) {
      if (reader.next() != parameter.size)
        return false;
      for (uint32_t at = 0; at < parameter.size; at += sizeof(int64_t)) {
        const int64_t word = reader.next();
        std::memcpy(to + at, &word, parameter.size - at < sizeof word ? parameter.size - at : sizeof word);
      }
      return !reader.is_cut();
    }
    const int64_t tensor = reader.next(), offset = reader.next();
    if (tensor < -2 || tensor >= problem.tensor_count)
      return false;
    if (buffers == nullptr || tensor == -2)
      return true;
    auto* base = static_cast<uint8_t*>(tensor == -1 ? buffers->workspace : buffers->tensors[tensor]);
    const void* pointer = base == nullptr ? nullptr : base + offset;
    std::memcpy(to, &pointer, sizeof pointer);
    return true;
  }

  static bool fill(detail::LaunchReader& reader, const bitgate_problem& problem,
                   const bitgate_buffers* buffers, Context* context) {
    const int64_t tensor = reader.next(), bytes = reader.next();
    if (tensor < -1 || tensor >= problem.tensor_count || bytes < 0)
      return false;
    if (context == nullptr)
      return true;
    memset_async(*context, "clear", tensor == -1 ? buffers->workspace : buffers->tensors[tensor], 0,
                 static_cast<size_t>(bytes));
    if (tensor >= 0)
      context->record.zero_fill = 1;
    return true;
  }

  Described described_{};
};

} // namespace bitgate

// The kernels, a line each: name, tab, parameters. Read by whoever writes lists for this library.
extern "C" BITGATE_EXPORT inline __attribute__((used)) const char* bitgate_source_kernels() noexcept {
  static std::string text;
  text.clear();
  for (uint32_t i = 0; i < bitgate::source_kernels.count; ++i)
    text += std::string(bitgate::source_kernels.first[i].name()) + "\t" +
            bitgate::source_kernels.first[i].described() + "\n";
  return text.c_str();
}
