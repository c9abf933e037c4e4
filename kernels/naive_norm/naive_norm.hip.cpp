// The plain layernorm and rmsnorm: one thread has a row and goes through it in order, for the mean, for the
// mean square of what is away from it, and to write. rmsnorm has a mean of 0.
#include "bitgate/library.hpp"
#include "bitgate/norm.hpp"

namespace naive_norm {

using bitgate::NormGeometry;
using bitgate::Number;

inline constexpr int block = 64;
inline constexpr int64_t max_blocks = 1 << 20;

template <class T>
__global__ void __launch_bounds__(block) kernel_norm(const T* x, const T* gamma, const T* beta, T* y,
                                                     float* means, float* rstds, NormGeometry geometry) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * block;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * block + threadIdx.x; row < geometry.rows;
       row += stride) {
    const T* const cells = x + row * geometry.x.row;
    const float count = static_cast<float>(geometry.columns);
    float mean = 0, squares = 0;
    if (geometry.is_centred) {
      float sum = 0;
      for (int64_t c = 0; c < geometry.columns; ++c)
        sum += Number<T>::widen(cells[c * geometry.x.column]);
      mean = sum / count;
    }
    for (int64_t c = 0; c < geometry.columns; ++c) {
      const float away = Number<T>::widen(cells[c * geometry.x.column]) - mean;
      squares += away * away;
    }
    const float rstd = bitgate::rstd_of(squares / count);
    for (int64_t c = 0; c < geometry.columns; ++c)
      y[row * geometry.y.row + c * geometry.y.column] = bitgate::normalised(
          Number<T>::widen(cells[c * geometry.x.column]), mean, rstd, gamma, beta, geometry, c);
    if (means != nullptr)
      means[row * geometry.mean] = mean;
    if (rstds != nullptr)
      rstds[row * geometry.rstd] = rstd;
  }
}

template <class T>
void run(const bitgate::Request<bitgate::NormProblem>& request, const bitgate::NormProblem::Buffers& buffers,
         bitgate::Context& context) {
  const int64_t blocks = (request.problem.rows + block - 1) / block;
  const dim3 grid(static_cast<unsigned>(blocks < max_blocks ? blocks : max_blocks));
  context.record.launches = bitgate::launch(
      context, "kernel_norm", kernel_norm<T>, grid, dim3(block), 0, static_cast<const T*>(buffers.x),
      static_cast<const T*>(buffers.gamma), static_cast<const T*>(buffers.beta), static_cast<T*>(buffers.y),
      buffers.mean, buffers.rstd, bitgate::geometry_of(request.problem));
  std::snprintf(context.record.path, sizeof context.record.path, "naive");
}

template <class T>
bitgate::Instance<bitgate::NormProblem> instance(const char* name, const char* operation, const char* dtype) {
  return {{name, operation, dtype, "", "f32", {}, {1, 1, 1}, block, 0, {}, 0},
          bitgate::supports_norm<T>,
          bitgate::no_workspace,
          run<T>};
}

const bitgate::Registration<bitgate::NormProblem> instances[] = {
    bitgate::Registration(instance<float>("layernorm_f32", "layernorm", "f32")),
    bitgate::Registration(instance<float>("rmsnorm_f32", "rmsnorm", "f32")),
    bitgate::Registration(instance<bitgate::f16>("layernorm_f16", "layernorm", "f16")),
    bitgate::Registration(instance<bitgate::f16>("rmsnorm_f16", "rmsnorm", "f16")),
    bitgate::Registration(instance<bitgate::bf16>("layernorm_bf16", "layernorm", "bf16")),
    bitgate::Registration(instance<bitgate::bf16>("rmsnorm_bf16", "rmsnorm", "bf16")),
};

} // namespace naive_norm

namespace bitgate {
const Family family{"naive_norm", nullptr, 0};
} // namespace bitgate
