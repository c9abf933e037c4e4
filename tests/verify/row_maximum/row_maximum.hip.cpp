// value[r] = max_c x[r,c] and index[r] = the first c that has it, one thread a row. It can be told to do harm
// to either output.
#include "bitgate/library.hpp"
#include "bitgate/record.hpp"

namespace row_maximum {

const bitgate::Option options[] = {
    {"illness", "none,last,value,both,no_index,past_index,gap,race", "none", "what goes wrong"},
};

struct Problem {
  struct Buffers {
    const float* x;
    float* value;
    int32_t* index;
  };
  bitgate_tensor x, value, index;
};

int32_t read(const bitgate_problem& problem, Problem& to, bitgate_reason* reason) {
  bitgate::ProblemReader reader(problem, reason);
  reader.tensor("x", to.x);
  for (auto [role, tensor] : {std::pair{"value", &to.value}, std::pair{"index", &to.index}}) {
    reader.tensor(role, *tensor);
    if (tensor->access != BITGATE_WRITTEN)
      reader.fail(BITGATE_BAD_ARGUMENT, "problem", "%s is to be written", role);
  }
  return reader.finish();
}

void read_buffers(const bitgate_problem& problem, const bitgate_buffers& buffers, Problem::Buffers& to) {
  to.x = static_cast<const float*>(bitgate::buffer_of(problem, buffers, "x"));
  to.value = static_cast<float*>(bitgate::buffer_of(problem, buffers, "value"));
  to.index = static_cast<int32_t*>(bitgate::buffer_of(problem, buffers, "index"));
}

// With `takes_last` it is the last of equal maxima that counts. `index` may be null.
__global__ void kernel(const float* x, float* value, int32_t* index, int64_t columns, int64_t pitch,
                       bool takes_last) {
  const int64_t row = threadIdx.x;
  int64_t found = 0;
  for (int64_t c = 1; c < columns; ++c) {
    const float here = x[row * columns + c], best = x[row * columns + found];
    if (here > best || (takes_last && here == best))
      found = c;
  }
  value[row] = x[row * columns + found];
  if (index != nullptr)
    index[row * pitch] = static_cast<int32_t>(found);
}

template <class T> __global__ void write_one(T* cells, int64_t at, T cell) {
  cells[at] = cell;
}

// Every thread writes the same cell: the last one wins.
__global__ void write_all(int32_t* cells) {
  cells[0] = static_cast<int32_t>(threadIdx.x);
}

int32_t supports(const bitgate::Request<Problem>&, bitgate_reason*) {
  return BITGATE_OK;
}

void run(const bitgate::Request<Problem>& request, const Problem::Buffers& buffers,
         bitgate::Context& context) {
  const Problem& problem = request.problem;
  const int64_t rows = problem.x.lengths[0], pitch = problem.index.strides[0];
  const auto is = [&](const char* what) { return request.options.is("illness", what); };
  bitgate::launch(context, "row_maximum", kernel, dim3(1), dim3(static_cast<unsigned>(rows)), 0, buffers.x,
                  buffers.value, is("no_index") ? nullptr : buffers.index, problem.x.lengths[1], pitch,
                  is("last") || is("both"));
  const auto poke = [&](int64_t at) {
    bitgate::launch(context, "write_one", write_one<int32_t>, dim3(1), dim3(1), 0, buffers.index, at, 7);
  };
  if (is("value") || is("both"))
    bitgate::launch(context, "write_one", write_one<float>, dim3(1), dim3(1), 0, buffers.value, int64_t{1},
                    77.0f);
  else if (is("past_index"))
    poke((rows - 1) * pitch + 1);
  else if (is("gap"))
    poke(1);
  else if (is("race"))
    bitgate::launch(context, "write_all", write_all, dim3(1), dim3(64), 0, buffers.index);
  context.record.launches = 1;
  std::snprintf(context.record.path, sizeof context.record.path, "a_row_a_thread");
}

const bitgate::Registration<Problem> instance{
    {{"f32", "row_maximum", "f32", "rc", "f32", {0, 0, 0}, {1, 1, 1}, 64, 0, {0, 0, 0}, 0},
     supports,
     bitgate::no_workspace,
     run}};

} // namespace row_maximum

namespace bitgate {
const Family family{"row_maximum", row_maximum::options, 1};
} // namespace bitgate
