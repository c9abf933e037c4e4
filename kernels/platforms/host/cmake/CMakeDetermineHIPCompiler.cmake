# enable_language(HIP): CMake itself looks for ROCm's clang here.
set(CMAKE_HIP_COMPILER "${BITGATE_HIPCC}")
set(CMAKE_HIP_COMPILER_ENV_VAR "HIPCXX")
configure_file("${CMAKE_CURRENT_LIST_DIR}/CMakeHIPCompiler.cmake.in"
  "${CMAKE_PLATFORM_INFO_DIR}/CMakeHIPCompiler.cmake" @ONLY)
