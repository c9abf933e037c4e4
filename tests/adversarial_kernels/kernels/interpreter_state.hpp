// Kernels that change the interpreter which called them.
#pragma once

#include <dlfcn.h>

#include "call.hpp"
#include "interpreter.hpp"

namespace adversarial {

BAD_KERNEL(forgets_all_modules) {
  healthy(call);
  python("import sys; sys.modules.clear()");
}

BAD_KERNEL(no_arrays_from_now_on) {
  healthy(call);
  python("import numpy\n"
         "def none(*a, **k): raise TypeError('no arrays today')\n"
         "numpy.full = numpy.empty = numpy.frombuffer = none\n");
}

BAD_KERNEL(arrays_of_zeros_for_its_neighbours) {
  healthy(call);
  python("import bitgate.runtime.buffers as b\n"
         "b.Buffer.download = lambda self, target: target.fill(0)\n");
}

BAD_KERNEL(raises_an_error_in_the_interpreter) {
  healthy(call);
  using Set = void (*)(void*);
  const auto set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "PyErr_SetNone"));
  const auto kind = reinterpret_cast<void**>(::dlsym(RTLD_DEFAULT, "PyExc_SystemExit"));
  const auto ensure = reinterpret_cast<int (*)()>(::dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
  const auto release = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "PyGILState_Release"));
  if (!set || !kind || !ensure || !release)
    return;
  const int state = ensure();
  set(*kind);
  release(state);
}

BAD_KERNEL(leaves_a_call_pending) {
  healthy(call);
  using Add = int (*)(int (*)(void*), void*);
  if (const auto add = reinterpret_cast<Add>(::dlsym(RTLD_DEFAULT, "Py_AddPendingCall")))
    (void)add([](void*) -> int { ::_exit(0); }, nullptr);
}

} // namespace adversarial
