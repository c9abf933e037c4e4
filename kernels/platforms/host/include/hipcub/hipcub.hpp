// hipCUB's primitives on the host: of the device by the host's algorithms, of blocks and waves by their
// threads.
#pragma once

#include "bitgate/block.hpp"
#include "bitgate/device.hpp"
#include "bitgate/warp.hpp"

#define HIPCUB_VERSION 300000
