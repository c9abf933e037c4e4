#include "instances.hpp"

namespace {
using bitgate::f16;
using naive_conv::Passes;
using naive_conv::Types;

const Passes<Types<f16, f16, f16, bitgate::f8ocp>> ct_f8ocp{"f32"};
const Passes<Types<f16, f16, f16, bitgate::bf8ocp>> ct_bf8ocp{"f32"};
const Passes<Types<f16, f16, f16, bitgate::f8fnuz>> ct_f8fnuz{"f32"};
const Passes<Types<f16, f16, f16, bitgate::bf8fnuz>> ct_bf8fnuz{"f32"};
} // namespace
