// Complex numbers as pairs.
#pragma once

#include <cmath>

#include <hip/hip_runtime.h>

typedef float2 hipFloatComplex;
typedef double2 hipDoubleComplex;
typedef hipFloatComplex hipComplex;

#define BITGATE_COMPLEX(Type, T, f, Name)                                                                    \
  inline Type make_hip##Name(T x, T y) {                                                                     \
    return {x, y};                                                                                           \
  }                                                                                                          \
  inline T hipCreal##f(Type z) {                                                                             \
    return z.x;                                                                                              \
  }                                                                                                          \
  inline T hipCimag##f(Type z) {                                                                             \
    return z.y;                                                                                              \
  }                                                                                                          \
  inline Type hipConj##f(Type z) {                                                                           \
    return {z.x, -z.y};                                                                                      \
  }                                                                                                          \
  inline T hipCabs##f(Type z) {                                                                              \
    return std::hypot(z.x, z.y);                                                                             \
  }                                                                                                          \
  inline Type hipCadd##f(Type a, Type b) {                                                                   \
    return {a.x + b.x, a.y + b.y};                                                                           \
  }                                                                                                          \
  inline Type hipCsub##f(Type a, Type b) {                                                                   \
    return {a.x - b.x, a.y - b.y};                                                                           \
  }                                                                                                          \
  inline Type hipCmul##f(Type a, Type b) {                                                                   \
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                                   \
  }                                                                                                          \
  inline Type hipCdiv##f(Type a, Type b) {                                                                   \
    const T square = b.x * b.x + b.y * b.y;                                                                  \
    return {(a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square};                             \
  }
BITGATE_COMPLEX(hipFloatComplex, float, f, FloatComplex)
BITGATE_COMPLEX(hipDoubleComplex, double, , DoubleComplex)
#undef BITGATE_COMPLEX
