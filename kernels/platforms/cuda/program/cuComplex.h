// CUDA's complex numbers by HIP's.
#pragma once

#include "cuda_runtime.h"

#include <hip/hip_complex.h>

#define cuFloatComplex hipFloatComplex
#define cuDoubleComplex hipDoubleComplex
#define cuComplex hipComplex
#define make_cuFloatComplex make_hipFloatComplex
#define make_cuDoubleComplex make_hipDoubleComplex
#define make_cuComplex make_hipFloatComplex
#define cuCrealf hipCrealf
#define cuCimagf hipCimagf
#define cuConjf hipConjf
#define cuCabsf hipCabsf
#define cuCaddf hipCaddf
#define cuCsubf hipCsubf
#define cuCmulf hipCmulf
#define cuCdivf hipCdivf
#define cuCreal hipCreal
#define cuCimag hipCimag
#define cuConj hipConj
#define cuCabs hipCabs
#define cuCadd hipCadd
#define cuCsub hipCsub
#define cuCmul hipCmul
#define cuCdiv hipCdiv
