#include "instances.hpp"

namespace {
const naive_conv::Passes<naive_conv::Types<int8_t>> i8{"i32"};
} // namespace
