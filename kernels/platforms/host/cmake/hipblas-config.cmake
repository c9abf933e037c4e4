# find_package(hipblas): the host's stand-in is headers, which bitgate-hipcc finds by itself.
set(hipblas_FOUND TRUE)
if(NOT TARGET roc::hipblas)
  add_library(roc::hipblas INTERFACE IMPORTED)
endif()
