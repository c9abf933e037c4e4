// Templates by name expressions, headers by name, and an error that is in the log.
#include "check.h"
#include <hip/hiprtc.h>
#include <string>

int main() {
  const char* source =
      "#include \"factor.h\"\n"
      "template <int N, class T> __global__ void times(T* x) { x[threadIdx.x] *= N * factor(); }\n";
  const char* text = "__device__ inline int factor() { return 10; }\n";
  const char* name = "factor.h";
  hiprtcProgram program;
  hiprtcCreateProgram(&program, source, "times.hip", 1, &text, &name);
  hiprtcAddNameExpression(program, "times<3, float>");
  bool right = hiprtcCompileProgram(program, 0, nullptr) == HIPRTC_SUCCESS;
  const char* lowered = nullptr;
  right = right && hiprtcGetLoweredName(program, "times<3, float>", &lowered) == HIPRTC_SUCCESS;
  size_t bytes = 0;
  hiprtcGetCodeSize(program, &bytes);
  std::vector<char> code(bytes);
  hiprtcGetCode(program, code.data());
  hipModule_t module;
  hipFunction_t times;
  HIP_CHECK(hipModuleLoadData(&module, code.data()));
  HIP_CHECK(hipModuleGetFunction(&times, module, lowered));
  float* x = to_device(std::vector<float>(32, 2));
  void* arguments[] = {&x};
  HIP_CHECK(hipModuleLaunchKernel(times, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  right = right && to_host(x, 32)[31] == 60;
  hiprtcProgram wrong;
  hiprtcCreateProgram(&wrong, "extern \"C\" __global__ void k(int* x) { x[0] = missing; }", "wrong.hip", 0,
                      nullptr, nullptr);
  right = right && hiprtcCompileProgram(wrong, 0, nullptr) == HIPRTC_ERROR_COMPILATION;
  hiprtcGetProgramLogSize(wrong, &bytes);
  std::string log(bytes, 0);
  hiprtcGetProgramLog(wrong, &log[0]);
  return verdict(right && log.find("missing") != std::string::npos);
}
