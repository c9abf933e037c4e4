#include "naive_conv.hpp"

namespace {
const bitgate::Registration bwd_weight{
    naive_conv::instance<bitgate::f16>("bwd_weight_f16", BITGATE_BWD_WEIGHT, "f32")};
const bitgate::Registration bwd_data{
    naive_conv::instance<bitgate::f16>("bwd_data_f16", BITGATE_BWD_DATA, "f32")};
const bitgate::Registration fwd{naive_conv::instance<bitgate::f16>("fwd_f16", BITGATE_FWD, "f32")};
} // namespace
