#include "instances.hpp"

namespace {
using bitgate::bf16;
using naive_conv::Types;

const naive_conv::Passes<Types<bf16>> all_bf16{"f32"};
// Gradients of the weights in f32.
const naive_conv::Naive<Types<bf16, float, bf16>> wei_f32{bitgate::Pass::bwd_weight, "f32"};
} // namespace
