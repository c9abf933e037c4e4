#include "naive_conv.hpp"

namespace {
const bitgate::Registration bwd_weight{
    naive_conv::instance<double>("bwd_weight_f64", BITGATE_BWD_WEIGHT, "f64")};
const bitgate::Registration bwd_data{naive_conv::instance<double>("bwd_data_f64", BITGATE_BWD_DATA, "f64")};
const bitgate::Registration fwd{naive_conv::instance<double>("fwd_f64", BITGATE_FWD, "f64")};
} // namespace
