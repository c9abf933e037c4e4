#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_fwd::Flavour<bitgate::f8fnuz, bitgate::bf8fnuz, grouped_fwd::InstancesF8Wave64,
                                  grouped_fwd::PrefetchedF8Wave64>
    instances("f8fnuz", "bf8fnuz", "bf8fnuz_bf8fnuz_f8fnuz", "f8fnuz_bf8fnuz_f8fnuz", "bf8fnuz_f8fnuz_f8fnuz",
              "f16_ctf8fnuz");
#endif
