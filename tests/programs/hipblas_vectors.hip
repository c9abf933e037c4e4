// Vectors, and a matrix times a vector.
#include "check.h"
#include <hipblas/hipblas.h>

int main() {
  const int n = 4;
  double *x = to_device(std::vector<double>{1, -2, 3, -4}), *y = to_device(std::vector<double>(n, 1));
  double* a = to_device(std::vector<double>{1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4});
  hipblasHandle_t handle;
  hipblasCreate(&handle);
  const double two = 2, zero = 0;
  double dot = 0, norm = 0, sum = 0;
  int largest = 0;
  hipblasDaxpy(handle, n, &two, x, 1, y, 1);
  bool right = to_host(y, n) == std::vector<double>{3, -3, 7, -7};
  hipblasDdot(handle, n, x, 1, y, 1, &dot);
  hipblasDnrm2(handle, n, x, 1, &norm);
  hipblasDasum(handle, n, x, 1, &sum);
  hipblasIdamax(handle, n, x, 1, &largest);
  hipblasDscal(handle, n, &two, x, 1);
  hipblasDgemv(handle, HIPBLAS_OP_N, n, n, &two, a, n, x, 1, &zero, y, 1);
  hipblasDestroy(handle);
  right = right && dot == 58 && fabs(norm - sqrt(30.0)) < 1e-12 && sum == 10 && largest == 4;
  return verdict(right && to_host(y, n) == std::vector<double>{4, -16, 36, -64});
}
