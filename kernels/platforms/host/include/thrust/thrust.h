// All of thrust that the host has; each of thrust's headers leads here.
#pragma once

#include "bitgate/algorithms.hpp"
#include "bitgate/functional.hpp"
#include "bitgate/iterators.hpp"
#include "bitgate/memory.hpp"

#define THRUST_VERSION 200100
#define THRUST_MAJOR_VERSION 2
#define THRUST_MINOR_VERSION 1
