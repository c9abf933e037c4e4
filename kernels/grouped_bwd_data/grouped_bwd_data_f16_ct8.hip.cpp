#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_bwd_data::Instances8Wave64<bitgate::f8ocp> f8ocp("f16_ctf8ocp");
static const grouped_bwd_data::Instances8Wave64<bitgate::bf8ocp> bf8ocp("f16_ctbf8ocp");
static const grouped_bwd_data::Instances8Wave64<bitgate::f8fnuz> f8fnuz("f16_ctf8fnuz");
static const grouped_bwd_data::Instances8Wave64<bitgate::bf8fnuz> bf8fnuz("f16_ctbf8fnuz");
#endif
#if BITGATE_HAS_WAVE(32)
static const grouped_bwd_data::Instances8Wave32<bitgate::f8ocp> f8ocp_w32("f16_ctf8ocp");
static const grouped_bwd_data::Instances8Wave32<bitgate::bf8ocp> bf8ocp_w32("f16_ctbf8ocp");
static const grouped_bwd_data::Instances8Wave32<bitgate::f8fnuz> f8fnuz_w32("f16_ctf8fnuz");
static const grouped_bwd_data::Instances8Wave32<bitgate::bf8fnuz> bf8fnuz_w32("f16_ctbf8fnuz");
#endif
