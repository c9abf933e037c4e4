/* HIP's module functions without a GPU: each call becomes a line in $MODULE_CALLS. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };
enum { BUFFER_POINTER = 1, BUFFER_SIZE = 2, END = 3 };

static char symbol[64];

static FILE* calls(void) {
  return fopen(getenv("MODULE_CALLS"), "a");
}

int hipModuleLoad(void** module, const char* path) {
  FILE* log = calls();
  fprintf(log, "load %s\n", path);
  fclose(log);
  *module = &symbol;
  return SUCCESS;
}

int hipModuleUnload(void* module) {
  FILE* log = calls();
  fprintf(log, "unload\n");
  fclose(log);
  return module == &symbol ? SUCCESS : INVALID_VALUE;
}

int hipModuleGetFunction(void** function, void* module, const char* name) {
  if (module != &symbol)
    return INVALID_VALUE;
  if (strcmp(name, "missing") == 0)
    return NOT_FOUND;
  snprintf(symbol, sizeof symbol, "%s", name);
  *function = symbol;
  return SUCCESS;
}

int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void* stream, void** parameters, void** extra) {
  if (parameters != NULL || extra[0] != (void*)BUFFER_POINTER || extra[2] != (void*)BUFFER_SIZE ||
      extra[4] != (void*)END)
    return INVALID_VALUE;
  FILE* log = calls();
  fprintf(log, "launch %s grid %u %u %u block %u %u %u lds %u stream %zx kernargs ", (const char*)function,
          gx, gy, gz, bx, by, bz, lds, (size_t)stream);
  for (size_t i = 0; i < *(const size_t*)extra[3]; ++i)
    fprintf(log, "%02x", ((const unsigned char*)extra[1])[i]);
  fprintf(log, "\n");
  fclose(log);
  return SUCCESS;
}

int hipGetLastError(void) {
  return SUCCESS;
}

const char* hipGetErrorName(int error) {
  return error == NOT_FOUND ? "hipErrorNotFound" : "hipErrorInvalidValue";
}

const char* hipGetErrorString(int error) {
  return error == NOT_FOUND ? "no such symbol" : "invalid value";
}
