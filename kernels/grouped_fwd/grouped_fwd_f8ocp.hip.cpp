#include "instances.hpp"

#if BITGATE_HAS_WAVE(64)
static const grouped_fwd::Flavour<bitgate::f8ocp, bitgate::bf8ocp, grouped_fwd::InstancesF8Wave64,
                                  grouped_fwd::PrefetchedF8Wave64>
    instances("f8ocp", "bf8ocp", "bf8ocp_bf8ocp_f8ocp", "f8ocp_bf8ocp_f8ocp", "bf8ocp_f8ocp_f8ocp",
              "f16_ctf8ocp");
#endif
