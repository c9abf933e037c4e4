// CUB's name of hipCUB.
#pragma once

#include <hipcub/hipcub.hpp>

namespace cub = hipcub;
