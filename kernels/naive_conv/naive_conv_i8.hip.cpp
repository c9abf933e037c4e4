#include "naive_conv.hpp"

namespace {
const bitgate::Registration bwd_weight{
    naive_conv::instance<int8_t>("bwd_weight_i8", BITGATE_BWD_WEIGHT, "i32")};
const bitgate::Registration bwd_data{naive_conv::instance<int8_t>("bwd_data_i8", BITGATE_BWD_DATA, "i32")};
const bitgate::Registration fwd{naive_conv::instance<int8_t>("fwd_i8", BITGATE_FWD, "i32")};
} // namespace
