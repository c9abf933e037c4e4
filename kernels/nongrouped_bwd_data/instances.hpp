// The instances by the lanes of a wave, stated for 16-bit elements (TilingFor), and those of i8. One
// translation unit makes those of one type. kernels/nongrouped_bwd_data/declaration.py lists the same.
#pragma once

#include "dispatch.hpp"

namespace nongrouped_bwd_data {

// Block tile, waves along M and N, fragment, vectors of dy, w and dx, lanes of a wave.
template <class T>
using InstancesWave64 =
    Registrations<AnySize<T, 64>, TilingFor<T, Extent<64, 64, 32>, 2, 1, Wide, Vectors<4, 4, 4>>,
                  TilingFor<T, Extent<128, 64, 32>, 4, 1, Wide, Vectors<8, 8, 8>>>;
template <class T>
using InstancesWave32 =
    Registrations<AnySize<T, 32>, TilingFor<T, Extent<64, 64, 32>, 2, 2, Small, Vectors<8, 8, 8>, 32>>;
template <class T>
using Instances8Wave64 =
    Registrations<AnySize<T, 64>, Tiling<T, Extent<128, 64, 64>, 4, 1, Small8, Vectors<16, 16, 16>>>;
template <class T>
using Instances8Wave32 =
    Registrations<AnySize<T, 32>, Tiling<T, Extent<64, 64, 64>, 2, 2, Small, Vectors<8, 8, 8>, 32>>;

} // namespace nongrouped_bwd_data
