// Kernels that leave the processor's own state other than a function may.
#pragma once

#include <mmintrin.h>
#include <sys/prctl.h>

#include "call.hpp"

namespace adversarial {

// Without emms: the next long double anywhere in this thread is a NaN.
BAD_KERNEL(leaves_mmx_registers_in_use) {
  healthy(call);
  __asm__ volatile("pxor %%mm0, %%mm0" ::: "mm0");
}

BAD_KERNEL(leaves_the_x87_stack_full) {
  healthy(call);
  __asm__ volatile("fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n fld1\n" ::: "st");
}

BAD_KERNEL(single_precision_x87) {
  healthy(call);
  unsigned short control = 0;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  control = static_cast<unsigned short>(control & ~0x300u);
  __asm__ volatile("fldcw %0" ::"m"(control));
}

BAD_KERNEL(copies_backwards) { // the ABI wants the flag clear: every string operation goes the wrong way
  healthy(call);
  __asm__ volatile("std" ::: "cc");
}

BAD_KERNEL(traps_unaligned_accesses) {
  healthy(call);
  __asm__ volatile("pushf\n orl $0x40000, (%%rsp)\n popf" ::: "cc", "memory");
}

BAD_KERNEL(forbids_reading_the_clock) {
  healthy(call);
  ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

} // namespace adversarial
