#include "shared_variables.hpp"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" void* __tls_get_addr(void* index); // the dynamic loader's

namespace bitgate_host {
namespace {

constexpr std::string_view mark = "B11bitgate_lds"; // the ABI tag as the mangled name spells it

// The loaded library that an address belongs to.
struct Library {
  uint64_t wanted;
  std::string path;
  uint64_t base = 0;
  size_t tlsModule = 0;
};

int inspect(dl_phdr_info* info, size_t, void* data) {
  auto& library = *static_cast<Library*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    const uint64_t from = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || library.wanted < from || library.wanted >= from + segment.p_memsz)
      continue;
    library.path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    library.base = info->dlpi_addr;
    library.tlsModule = info->dlpi_tls_modid;
    return 1;
  }
  return 0;
}

// How many libraries have been unloaded in this process.
unsigned long long unloadsSoFar() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_subs;
        return 1;
      },
      &count);
  return count;
}

class MappedFile {
public:
  explicit MappedFile(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
      void* at = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED)
        bytes = {static_cast<const char*>(at), static_cast<size_t>(status.st_size)};
    }
    if (file >= 0)
      close(file);
  }
  ~MappedFile() {
    if (!bytes.empty())
      munmap(const_cast<char*>(bytes.data()), bytes.size());
  }
  MappedFile(const MappedFile&) = delete;

  // `count` objects at `offset`, null when the file ends before.
  template <class T> const T* at(uint64_t offset, uint64_t count = 1) const {
    const bool fits = offset <= bytes.size() && count <= (bytes.size() - offset) / sizeof(T);
    return fits ? reinterpret_cast<const T*>(bytes.data() + offset) : nullptr;
  }

private:
  std::string_view bytes;
};

// Calls visit(name, symbol) for each entry of the file's full symbol table.
template <class F> void eachSymbol(const MappedFile& file, F visit) {
  const auto* header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return;
  const auto* sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (unsigned i = 0; sections && i < header->e_shnum; ++i) {
    const Elf64_Shdr& table = sections[i];
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum)
      continue;
    const Elf64_Shdr& strings = sections[table.sh_link];
    const auto* names = file.at<char>(strings.sh_offset, strings.sh_size);
    const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto* symbols = file.at<Elf64_Sym>(table.sh_offset, count);
    for (uint64_t s = 0; names && symbols && s < count; ++s)
      if (symbols[s].st_name < strings.sh_size)
        visit(std::string_view(names + symbols[s].st_name), symbols[s]);
  }
}

// "_ZZ5scalePfE4tileB11bitgate_lds" lies in "_Z5scalePf".
bool liesIn(std::string_view variable, std::string_view function) {
  return variable.starts_with("_ZZ") && function.starts_with("_Z") &&
         variable.substr(3).starts_with(function.substr(2));
}

std::vector<SharedVariable> find(const void* kernel, std::set<std::string>& kernels) {
  Library library{reinterpret_cast<uint64_t>(kernel), {}};
  std::vector<SharedVariable> variables;
  if (!dl_iterate_phdr(inspect, &library) || !library.tlsModule)
    return variables;
  const MappedFile file(library.path);
  std::string function;
  eachSymbol(file, [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && library.base + symbol.st_value == library.wanted)
      function = name;
  });
  kernels.insert(function);
  // A function that has been launched is a kernel, so this one does not call it: its variables cost nothing
  // here.
  const auto isAnotherKernels = [&](std::string_view variable) {
    for (const std::string& other : kernels)
      if (other != function && liesIn(variable, other))
        return true;
    return false;
  };
  eachSymbol(file, [&](std::string_view name, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS && symbol.st_shndx != SHN_UNDEF && symbol.st_size &&
        name.find(mark) != name.npos && !isAnotherKernels(name))
      variables.push_back({library.tlsModule, symbol.st_value, symbol.st_size, liesIn(name, function)});
  });
  return variables;
}

} // namespace

SharedVariables sharedVariablesOf(const void* kernel) {
  static std::mutex guard;
  static auto& known = *new std::map<const void*, SharedVariables>;
  static auto& kernels = *new std::set<std::string>;
  static unsigned long long unloadsSeen = 0;
  std::lock_guard lock(guard);
  if (const auto unloads = unloadsSoFar(); unloads != unloadsSeen) {
    known.clear(); // another library may lie at these addresses by now
    unloadsSeen = unloads;
  }
  SharedVariables& variables = known[kernel];
  if (!variables)
    variables = std::make_shared<const std::vector<SharedVariable>>(find(kernel, kernels));
  return variables;
}

void* addressOf(const SharedVariable& variable) {
  size_t index[2] = {variable.module, variable.offset};
  return __tls_get_addr(index);
}

void poisonSharedVariables(const std::vector<SharedVariable>& variables, unsigned char byte) {
  for (const SharedVariable& variable : variables)
    std::memset(addressOf(variable), byte, variable.bytes);
}

} // namespace bitgate_host
