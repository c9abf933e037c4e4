# find_package(rocthrust): the host's stand-in is headers, which bitgate-hipcc finds by itself.
set(rocthrust_FOUND TRUE)
if(NOT TARGET roc::rocthrust)
  add_library(roc::rocthrust INTERFACE IMPORTED)
endif()
