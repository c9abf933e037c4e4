// Products of matrices: transposed, batched, and beta = 0 on memory that was never written.
#include "check.h"
#include <hipblas/hipblas.h>

int main() {
  const int m = 3, n = 2, k = 4;
  std::vector<float> a(m * k), b(k * n);
  for (int i = 0; i < m * k; ++i)
    a[i] = i % 5 - 2;
  for (int i = 0; i < k * n; ++i)
    b[i] = i % 3;
  float *da = to_device(a), *db = to_device(b), *dc = nullptr;
  HIP_CHECK(hipMalloc(&dc, 2 * m * n * sizeof(float)));
  hipblasHandle_t handle;
  hipblasCreate(&handle);
  const float one = 1, zero = 0, two = 2;
  bool right = hipblasSgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, m, n, k, &one, da, m, db, k, &zero, dc, m) ==
               HIPBLAS_STATUS_SUCCESS;
  const auto c = to_host(dc, m * n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      float sum = 0;
      for (int p = 0; p < k; ++p)
        sum += a[i + p * m] * b[p + j * k];
      right = right && c[i + j * m] == sum;
    }
  hipblasSgemm(handle, HIPBLAS_OP_T, HIPBLAS_OP_N, k, n, m, &two, da, m, dc, m, &zero, dc, k);
  hipblasSgemmStridedBatched(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, m, n, k, &one, da, m, 0, db, k, 0, &zero, dc,
                             m, m * n, 2);
  right = right && to_host(dc + m * n, m * n) == c;
  right = right && hipblasSgemm(handle, HIPBLAS_OP_N, HIPBLAS_OP_N, m, n, k, &one, da, m, db, k, &zero, dc,
                                1) == HIPBLAS_STATUS_INVALID_VALUE;
  hipblasDestroy(handle);
  return verdict(right);
}
