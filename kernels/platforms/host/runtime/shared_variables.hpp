// Plain __shared__ variables: thread-local variables of the kernel's library, marked by an ABI tag. Their
// symbols tell where they lie, so that they can be poisoned before each block, and nothing else of the
// library's TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace bitgate_host {

struct SharedVariable {
  size_t module; // the loader's number of the library's TLS block
  size_t offset; // of the variable in that block
  size_t bytes;
  bool own; // declared in the kernel itself, not in a function that it may call
};

using SharedVariables = std::shared_ptr<const std::vector<SharedVariable>>;

// The variables that the kernel at this address may use; empty for a library without a symbol table
// (stripped).
SharedVariables sharedVariablesOf(const void* kernel);

// The calling OS thread's instance.
void* addressOf(const SharedVariable& variable);

// Fills the calling OS thread's instances with poison.
void poisonSharedVariables(const std::vector<SharedVariable>& variables, unsigned char byte);

} // namespace bitgate_host
