#include "instances.hpp"

namespace {
const naive_conv::Passes<naive_conv::Types<double>> f64{"f64"};
} // namespace
