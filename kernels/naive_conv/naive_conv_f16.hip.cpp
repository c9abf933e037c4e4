#include "instances.hpp"

namespace {
const naive_conv::Passes<naive_conv::Types<bitgate::f16>> f16{"f32"};
} // namespace
