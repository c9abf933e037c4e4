#include "instances.hpp"

namespace {
using f8 = bitgate::f8fnuz;
using bf8 = bitgate::bf8fnuz;
using naive_conv::Passes;
using naive_conv::Types;

const Passes<Types<f8>> all_f8{"f32"};
const Passes<Types<bf8>> all_bf8{"f32"};
const Passes<Types<bf8, bf8, f8>> out_f8{"f32"};
const Passes<Types<f8, bf8, f8>> wei_bf8{"f32"};
const Passes<Types<bf8, f8, f8>> in_bf8{"f32"};
} // namespace
