# find_package(hiprand): the host's stand-in is headers, which bitgate-hipcc finds by itself.
set(hiprand_FOUND TRUE)
if(NOT TARGET hip::hiprand)
  add_library(hip::hiprand INTERFACE IMPORTED)
endif()
