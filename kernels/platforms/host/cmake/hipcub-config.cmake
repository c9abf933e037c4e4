# find_package(hipcub): the host's stand-in is headers, which bitgate-hipcc finds by itself.
set(hipcub_FOUND TRUE)
if(NOT TARGET hip::hipcub)
  add_library(hip::hipcub INTERFACE IMPORTED)
endif()
