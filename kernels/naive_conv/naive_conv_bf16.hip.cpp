#include "naive_conv.hpp"

namespace {
const bitgate::Registration bwd_weight{
    naive_conv::instance<bitgate::bf16>("bwd_weight_bf16", BITGATE_BWD_WEIGHT, "f32")};
const bitgate::Registration bwd_data{
    naive_conv::instance<bitgate::bf16>("bwd_data_bf16", BITGATE_BWD_DATA, "f32")};
const bitgate::Registration fwd{naive_conv::instance<bitgate::bf16>("fwd_bf16", BITGATE_FWD, "f32")};
} // namespace
