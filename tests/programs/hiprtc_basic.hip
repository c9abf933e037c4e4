// A kernel that is compiled while the program runs, launched by arguments and by a buffer of them.
#include "check.h"
#include <hip/hiprtc.h>
#include <string>

static const char* source = R"(
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i] + OFFSET;
}
)";

int main() {
  hiprtcProgram program;
  bool right = hiprtcCreateProgram(&program, source, "saxpy.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS;
  const char* options[] = {"--gpu-architecture=gfx90a", "-DOFFSET=1", "-O1"};
  const hiprtcResult compiled = hiprtcCompileProgram(program, 3, options);
  size_t bytes = 0;
  hiprtcGetProgramLogSize(program, &bytes);
  std::string log(bytes, 0);
  hiprtcGetProgramLog(program, &log[0]);
  if (compiled != HIPRTC_SUCCESS)
    printf("%s\n", log.c_str());
  right = right && hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS;
  std::vector<char> code(bytes);
  hiprtcGetCode(program, code.data());
  hiprtcDestroyProgram(&program);
  hipModule_t module;
  hipFunction_t saxpy, none;
  HIP_CHECK(hipModuleLoadData(&module, code.data()));
  HIP_CHECK(hipModuleGetFunction(&saxpy, module, "saxpy"));
  right = right && hipModuleGetFunction(&none, module, "absent") == hipErrorNotFound;
  int n = 100;
  float a = 2, *x = to_device(std::vector<float>(n, 3)), *y = to_device(std::vector<float>(n, 1));
  void* arguments[] = {&a, &x, &y, &n};
  HIP_CHECK(hipModuleLaunchKernel(saxpy, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  struct {
    float a;
    float *x, *y;
    int n;
  } packed{a, x, y, n};
  size_t size = sizeof packed;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP_CHECK(hipModuleLaunchKernel(saxpy, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  HIP_CHECK(hipDeviceSynchronize());
  right = right && to_host(y, n)[99] == 15;
  HIP_CHECK(hipModuleUnload(module));
  return verdict(right);
}
