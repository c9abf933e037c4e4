#include "bitgate/implicit_gemm/bwd_weight/variants.hpp"
#include "instances.hpp"

namespace grouped_bwd_weight {

// Tensors of f16, multiplied as F.
template <class F> using Rounded = Types<bitgate::f16, bitgate::f16, bitgate::f16, F, F>;

#if BITGATE_HAS_WAVE(64)
static const Pair8Wave64<Registrations, Rounded<bitgate::f8ocp>, 8> f8ocp("f16_ctf8ocp");
static const Pair8Wave64<Registrations, Rounded<bitgate::bf8ocp>, 8> bf8ocp("f16_ctbf8ocp");
static const Pair8Wave64<Registrations, Rounded<bitgate::f8fnuz>, 8> f8fnuz("f16_ctf8fnuz");
static const Pair8Wave64<Registrations, Rounded<bitgate::bf8fnuz>, 8> bf8fnuz("f16_ctbf8fnuz");
#endif
#if BITGATE_HAS_WAVE(32)
static const Pair8Wave32<Registrations, Rounded<bitgate::f8ocp>, 8> f8ocp_w32("f16_ctf8ocp");
static const Pair8Wave32<Registrations, Rounded<bitgate::bf8ocp>, 8> bf8ocp_w32("f16_ctbf8ocp");
static const Pair8Wave32<Registrations, Rounded<bitgate::f8fnuz>, 8> f8fnuz_w32("f16_ctf8fnuz");
static const Pair8Wave32<Registrations, Rounded<bitgate::bf8fnuz>, 8> bf8fnuz_w32("f16_ctbf8fnuz");
#endif

} // namespace grouped_bwd_weight
