// hipBLAS on the host: each call waits for its stream and does the sums in order, in double where T is float
// or less, so that a program's own tolerance decides.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

enum hipblasStatus_t {
  HIPBLAS_STATUS_SUCCESS = 0,
  HIPBLAS_STATUS_NOT_INITIALIZED = 1,
  HIPBLAS_STATUS_ALLOC_FAILED = 2,
  HIPBLAS_STATUS_INVALID_VALUE = 3,
  HIPBLAS_STATUS_MAPPING_ERROR = 4,
  HIPBLAS_STATUS_EXECUTION_FAILED = 5,
  HIPBLAS_STATUS_INTERNAL_ERROR = 6,
  HIPBLAS_STATUS_NOT_SUPPORTED = 7,
  HIPBLAS_STATUS_ARCH_MISMATCH = 8,
  HIPBLAS_STATUS_HANDLE_IS_NULLPTR = 9,
  HIPBLAS_STATUS_UNKNOWN = 12
};
enum hipblasOperation_t { HIPBLAS_OP_N = 111, HIPBLAS_OP_T = 112, HIPBLAS_OP_C = 113 };
enum hipblasFillMode_t { HIPBLAS_FILL_MODE_UPPER = 121, HIPBLAS_FILL_MODE_LOWER = 122 };
enum hipblasDiagType_t { HIPBLAS_DIAG_NON_UNIT = 131, HIPBLAS_DIAG_UNIT = 132 };
enum hipblasSideMode_t { HIPBLAS_SIDE_LEFT = 141, HIPBLAS_SIDE_RIGHT = 142 };
enum hipblasPointerMode_t { HIPBLAS_POINTER_MODE_HOST, HIPBLAS_POINTER_MODE_DEVICE };
enum hipblasMath_t { HIPBLAS_DEFAULT_MATH = 0, HIPBLAS_TENSOR_OP_MATH = 1 };
using hipblasHalf = __half;
struct bitgateHipblas {
  hipStream_t stream = nullptr;
  hipblasPointerMode_t mode = HIPBLAS_POINTER_MODE_HOST;
};
typedef bitgateHipblas* hipblasHandle_t;

inline hipblasStatus_t hipblasCreate(hipblasHandle_t* handle) {
  *handle = new bitgateHipblas;
  return HIPBLAS_STATUS_SUCCESS;
}
inline hipblasStatus_t hipblasDestroy(hipblasHandle_t handle) {
  delete handle;
  return HIPBLAS_STATUS_SUCCESS;
}
inline hipblasStatus_t hipblasSetStream(hipblasHandle_t handle, hipStream_t stream) {
  handle->stream = stream;
  return HIPBLAS_STATUS_SUCCESS;
}
inline hipblasStatus_t hipblasGetStream(hipblasHandle_t handle, hipStream_t* stream) {
  *stream = handle->stream;
  return HIPBLAS_STATUS_SUCCESS;
}
inline hipblasStatus_t hipblasSetPointerMode(hipblasHandle_t handle, hipblasPointerMode_t mode) {
  handle->mode = mode;
  return HIPBLAS_STATUS_SUCCESS;
}
inline hipblasStatus_t hipblasSetMathMode(hipblasHandle_t, hipblasMath_t) {
  return HIPBLAS_STATUS_SUCCESS;
}
inline const char* hipblasStatusToString(hipblasStatus_t status) {
  return status == HIPBLAS_STATUS_SUCCESS ? "HIPBLAS_STATUS_SUCCESS" : "a hipBLAS error";
}
inline hipblasStatus_t hipblasSetVector(int count, int bytes, const void* from, int step, void* to,
                                        int toStep) {
  const hipError_t error =
      hipMemcpy2D(to, static_cast<size_t>(bytes) * toStep, from, static_cast<size_t>(bytes) * step,
                  static_cast<size_t>(bytes), static_cast<size_t>(count), hipMemcpyHostToDevice);
  return error == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_MAPPING_ERROR;
}
inline hipblasStatus_t hipblasGetVector(int count, int bytes, const void* from, int step, void* to,
                                        int toStep) {
  const hipError_t error =
      hipMemcpy2D(to, static_cast<size_t>(bytes) * toStep, from, static_cast<size_t>(bytes) * step,
                  static_cast<size_t>(bytes), static_cast<size_t>(count), hipMemcpyDeviceToHost);
  return error == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_MAPPING_ERROR;
}
inline hipblasStatus_t hipblasSetMatrix(int rows, int columns, int bytes, const void* from, int ld, void* to,
                                        int toLd) {
  const hipError_t error =
      hipMemcpy2D(to, static_cast<size_t>(bytes) * toLd, from, static_cast<size_t>(bytes) * ld,
                  static_cast<size_t>(bytes) * rows, static_cast<size_t>(columns), hipMemcpyHostToDevice);
  return error == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_MAPPING_ERROR;
}
inline hipblasStatus_t hipblasGetMatrix(int rows, int columns, int bytes, const void* from, int ld, void* to,
                                        int toLd) {
  const hipError_t error =
      hipMemcpy2D(to, static_cast<size_t>(bytes) * toLd, from, static_cast<size_t>(bytes) * ld,
                  static_cast<size_t>(bytes) * rows, static_cast<size_t>(columns), hipMemcpyDeviceToHost);
  return error == hipSuccess ? HIPBLAS_STATUS_SUCCESS : HIPBLAS_STATUS_MAPPING_ERROR;
}

namespace bitgate_host::blas {
template <class T> double value(T of) {
  return static_cast<double>(of);
}
inline double value(__half of) {
  return static_cast<float>(of);
}
template <class T> T rounded(double of) {
  return static_cast<T>(of);
}
template <> inline __half rounded<__half>(double of) {
  return of;
}
template <class Work> hipblasStatus_t done(hipblasHandle_t handle, bool isValid, Work work) {
  if (!handle)
    return HIPBLAS_STATUS_HANDLE_IS_NULLPTR;
  if (!isValid)
    return HIPBLAS_STATUS_INVALID_VALUE;
  if (hipStreamSynchronize(handle->stream) != hipSuccess)
    return HIPBLAS_STATUS_EXECUTION_FAILED;
  work();
  return HIPBLAS_STATUS_SUCCESS;
}
// Column by column; what is transposed is read by rows. Where beta is 0, C is not read.
template <class A, class C, class S>
void gemm(hipblasOperation_t opA, hipblasOperation_t opB, int m, int n, int k, S alpha, const A* a, long lda,
          const A* b, long ldb, S beta, C* c, long ldc) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int p = 0; p < k; ++p)
        sum += value(opA == HIPBLAS_OP_N ? a[i + p * lda] : a[p + i * lda]) *
               value(opB == HIPBLAS_OP_N ? b[p + j * ldb] : b[j + p * ldb]);
      C& to = c[i + j * ldc];
      to = rounded<C>(value(alpha) * sum + (value(beta) == 0 ? 0 : value(beta) * value(to)));
    }
}
template <class T> int largest(int n, const T* x, int step, bool smallest) {
  int best = 0;
  for (int i = 1; i < n; ++i) {
    const T here = std::abs(x[i * static_cast<long>(step)]),
            there = std::abs(x[best * static_cast<long>(step)]);
    if (smallest ? here < there : there < here)
      best = i;
  }
  return n > 0 ? best + 1 : 0;
}
} // namespace bitgate_host::blas

#define BITGATE_GEMM(letter, T)                                                                              \
  inline hipblasStatus_t hipblas##letter##gemm(                                                              \
      hipblasHandle_t handle, hipblasOperation_t opA, hipblasOperation_t opB, int m, int n, int k,           \
      const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {              \
    return bitgate_host::blas::done(handle, m >= 0 && n >= 0 && k >= 0 && ldc >= m, [=] {                    \
      bitgate_host::blas::gemm(opA, opB, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);                    \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##gemmStridedBatched(                                                \
      hipblasHandle_t handle, hipblasOperation_t opA, hipblasOperation_t opB, int m, int n, int k,           \
      const T* alpha, const T* a, int lda, long long strideA, const T* b, int ldb, long long strideB,        \
      const T* beta, T* c, int ldc, long long strideC, int batches) {                                        \
    return bitgate_host::blas::done(handle, m >= 0 && n >= 0 && k >= 0 && ldc >= m, [=] {                    \
      for (int at = 0; at < batches; ++at)                                                                   \
        bitgate_host::blas::gemm(opA, opB, m, n, k, *alpha, a + at * strideA, lda, b + at * strideB, ldb,    \
                                 *beta, c + at * strideC, ldc);                                              \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##gemmBatched(                                                       \
      hipblasHandle_t handle, hipblasOperation_t opA, hipblasOperation_t opB, int m, int n, int k,           \
      const T* alpha, const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], \
      int ldc, int batches) {                                                                                \
    return bitgate_host::blas::done(handle, m >= 0 && n >= 0 && k >= 0 && ldc >= m, [=] {                    \
      for (int at = 0; at < batches; ++at)                                                                   \
        bitgate_host::blas::gemm(opA, opB, m, n, k, *alpha, a[at], lda, b[at], ldb, *beta, c[at], ldc);      \
    });                                                                                                      \
  }
BITGATE_GEMM(S, float)
BITGATE_GEMM(D, double)
BITGATE_GEMM(H, __half)
#undef BITGATE_GEMM

#define BITGATE_VECTORS(letter, small, T)                                                                    \
  inline hipblasStatus_t hipblas##letter##gemv(hipblasHandle_t handle, hipblasOperation_t op, int m, int n,  \
                                               const T* alpha, const T* a, int lda, const T* x, int incx,    \
                                               const T* beta, T* y, int incy) {                              \
    const bool isPlain = op == HIPBLAS_OP_N;                                                                 \
    return bitgate_host::blas::done(handle, lda >= m, [=] {                                                  \
      for (int i = 0; i < (isPlain ? m : n); ++i) {                                                          \
        double sum = 0;                                                                                      \
        for (int p = 0; p < (isPlain ? n : m); ++p)                                                          \
          sum += static_cast<double>(isPlain ? a[i + static_cast<long>(p) * lda]                             \
                                             : a[p + static_cast<long>(i) * lda]) *                          \
                 x[static_cast<long>(p) * incx];                                                             \
        T& to = y[static_cast<long>(i) * incy];                                                              \
        to = static_cast<T>(*alpha * sum + (*beta == 0 ? 0 : static_cast<double>(*beta) * to));              \
      }                                                                                                      \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##ger(hipblasHandle_t handle, int m, int n, const T* alpha,          \
                                              const T* x, int incx, const T* y, int incy, T* a, int lda) {   \
    return bitgate_host::blas::done(handle, lda >= m, [=] {                                                  \
      for (int j = 0; j < n; ++j)                                                                            \
        for (int i = 0; i < m; ++i)                                                                          \
          a[i + static_cast<long>(j) * lda] +=                                                               \
              *alpha * x[static_cast<long>(i) * incx] * y[static_cast<long>(j) * incy];                      \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##axpy(hipblasHandle_t handle, int n, const T* alpha, const T* x,    \
                                               int incx, T* y, int incy) {                                   \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      for (long i = 0; i < n; ++i)                                                                           \
        y[i * incy] += *alpha * x[i * incx];                                                                 \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##scal(hipblasHandle_t handle, int n, const T* alpha, T* x,          \
                                               int incx) {                                                   \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      for (long i = 0; i < n; ++i)                                                                           \
        x[i * incx] *= *alpha;                                                                               \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##copy(hipblasHandle_t handle, int n, const T* x, int incx, T* y,    \
                                               int incy) {                                                   \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      for (long i = 0; i < n; ++i)                                                                           \
        y[i * incy] = x[i * incx];                                                                           \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##swap(hipblasHandle_t handle, int n, T* x, int incx, T* y,          \
                                               int incy) {                                                   \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      for (long i = 0; i < n; ++i)                                                                           \
        std::swap(x[i * incx], y[i * incy]);                                                                 \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##dot(hipblasHandle_t handle, int n, const T* x, int incx,           \
                                              const T* y, int incy, T* result) {                             \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      double sum = 0;                                                                                        \
      for (long i = 0; i < n; ++i)                                                                           \
        sum += static_cast<double>(x[i * incx]) * y[i * incy];                                               \
      *result = static_cast<T>(sum);                                                                         \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##nrm2(hipblasHandle_t handle, int n, const T* x, int incx,          \
                                               T* result) {                                                  \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      double sum = 0;                                                                                        \
      for (long i = 0; i < n; ++i)                                                                           \
        sum += static_cast<double>(x[i * incx]) * x[i * incx];                                               \
      *result = static_cast<T>(std::sqrt(sum));                                                              \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##asum(hipblasHandle_t handle, int n, const T* x, int incx,          \
                                               T* result) {                                                  \
    return bitgate_host::blas::done(handle, true, [=] {                                                      \
      double sum = 0;                                                                                        \
      for (long i = 0; i < n; ++i)                                                                           \
        sum += std::abs(x[i * incx]);                                                                        \
      *result = static_cast<T>(sum);                                                                         \
    });                                                                                                      \
  }                                                                                                          \
  inline hipblasStatus_t hipblasI##small##amax(hipblasHandle_t handle, int n, const T* x, int incx,          \
                                               int* result) {                                                \
    return bitgate_host::blas::done(handle, true,                                                            \
                                    [=] { *result = bitgate_host::blas::largest(n, x, incx, false); });      \
  }                                                                                                          \
  inline hipblasStatus_t hipblasI##small##amin(hipblasHandle_t handle, int n, const T* x, int incx,          \
                                               int* result) {                                                \
    return bitgate_host::blas::done(handle, true,                                                            \
                                    [=] { *result = bitgate_host::blas::largest(n, x, incx, true); });       \
  }                                                                                                          \
  inline hipblasStatus_t hipblas##letter##geam(                                                              \
      hipblasHandle_t handle, hipblasOperation_t opA, hipblasOperation_t opB, int m, int n, const T* alpha,  \
      const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {                              \
    return bitgate_host::blas::done(handle, ldc >= m, [=] {                                                  \
      for (long j = 0; j < n; ++j)                                                                           \
        for (long i = 0; i < m; ++i) {                                                                       \
          const T left = *alpha == 0 ? 0 : *alpha * (opA == HIPBLAS_OP_N ? a[i + j * lda] : a[j + i * lda]); \
          const T right = *beta == 0 ? 0 : *beta * (opB == HIPBLAS_OP_N ? b[i + j * ldb] : b[j + i * ldb]);  \
          c[i + j * ldc] = left + right;                                                                     \
        }                                                                                                    \
    });                                                                                                      \
  }
BITGATE_VECTORS(S, s, float)
BITGATE_VECTORS(D, d, double)
#undef BITGATE_VECTORS
