#include "naive_conv.hpp"

namespace {
const bitgate::Registration bwd_weight{
    naive_conv::instance<float>("bwd_weight_f32", BITGATE_BWD_WEIGHT, "f32")};
const bitgate::Registration bwd_data{naive_conv::instance<float>("bwd_data_f32", BITGATE_BWD_DATA, "f32")};
const bitgate::Registration fwd{naive_conv::instance<float>("fwd_f32", BITGATE_FWD, "f32")};
} // namespace
