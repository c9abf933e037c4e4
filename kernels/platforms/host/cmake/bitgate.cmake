# The toolchain of HIP programs for the host runtime: cmake $(bitgate-hipcc --cmake) ...
# C++ and the language HIP are compiled by bitgate-hipcc, and hip's packages are those of this folder.
set(CMAKE_CXX_COMPILER "${BITGATE_HIPCC}")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES BITGATE_HIPCC)
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
foreach(package hip hipblas hipcub hiprand rocthrust)
  set(${package}_DIR "${CMAKE_CURRENT_LIST_DIR}")
endforeach()
set(CMAKE_HIP_PLATFORM amd)
