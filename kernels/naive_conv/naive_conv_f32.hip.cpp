#include "instances.hpp"

namespace {
const naive_conv::Passes<naive_conv::Types<float>> f32{"f32"};
} // namespace
