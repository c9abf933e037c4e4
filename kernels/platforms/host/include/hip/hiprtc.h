// hiprtc on the host: a program is compiled by bitgate-hipcc, as the program that asks for it was, to a
// library that hipModuleLoadData loads.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <hip/hip_runtime.h>

enum hiprtcResult {
  HIPRTC_SUCCESS = 0,
  HIPRTC_ERROR_OUT_OF_MEMORY = 1,
  HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  HIPRTC_ERROR_INVALID_INPUT = 3,
  HIPRTC_ERROR_INVALID_PROGRAM = 4,
  HIPRTC_ERROR_INVALID_OPTION = 5,
  HIPRTC_ERROR_COMPILATION = 6,
  HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
  HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
  HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  HIPRTC_ERROR_INTERNAL_ERROR = 11
};

struct _hiprtcProgram {
  std::string source, log, image;
  std::filesystem::path folder; // removed with the process, since modules are loaded from it
  std::vector<std::string> expressions, lowered;
};
typedef _hiprtcProgram* hiprtcProgram;

namespace bitgate_host::rtc {

struct Folders {
  std::vector<std::filesystem::path> all;
  ~Folders() {
    std::error_code ignored;
    for (const auto& folder : all)
      std::filesystem::remove_all(folder, ignored);
  }
};
inline std::filesystem::path new_folder() {
  static Folders made;
  std::string name = (std::filesystem::temp_directory_path() / "bitgate-hiprtc-XXXXXX").string();
  return mkdtemp(name.data()) ? made.all.emplace_back(name) : std::filesystem::path();
}
inline std::string quoted(const std::string& word) {
  return "'" + std::regex_replace(word, std::regex("'"), "'\\''") + "'";
}
// The function by which a module's kernel is launched: `kernel` is C++.
inline std::string launcher(const std::string& name, const std::string& kernel) {
  return "extern \"C\" hipError_t " + std::string(modulePrefix) + name +
         "(const bitgate_host::ModuleLaunch& with) {\n  return bitgate_host::launch_from_module(\"" + kernel +
         "\", " + kernel + ", with);\n}\n";
}
inline std::string launchers(const _hiprtcProgram& program) {
  std::string text = "\n#line 1 \"hiprtc names\"\n";
  static const std::regex kernel(
      "(extern\\s*\"C\"\\s*)?__global__\\s+(?:__launch_bounds__\\s*\\([^)]*\\)\\s*)?void\\s+"
      "(?:__launch_bounds__\\s*\\([^)]*\\)\\s*)?(\\w+)\\s*\\(");
  const bool isBlock = std::regex_search(program.source, std::regex("extern\\s*\"C\"\\s*\\{"));
  for (std::sregex_iterator at(program.source.begin(), program.source.end(), kernel), end; at != end; ++at)
    if ((*at)[1].matched || isBlock)
      text += launcher((*at)[2], (*at)[2]);
  for (size_t at = 0; at < program.expressions.size(); ++at) {
    const std::string& expression = program.expressions[at];
    text += launcher(program.lowered[at], expression.substr(expression.find_first_not_of("& ")));
  }
  return text;
}
inline bool write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  return static_cast<bool>(std::ofstream(path) << text);
}

} // namespace bitgate_host::rtc

inline const char* hiprtcGetErrorString(hiprtcResult result) {
  return result == HIPRTC_SUCCESS             ? "HIPRTC_SUCCESS"
         : result == HIPRTC_ERROR_COMPILATION ? "HIPRTC_ERROR_COMPILATION"
                                              : "an error of hiprtc";
}
inline hiprtcResult hiprtcVersion(int* major, int* minor) {
  *major = 9, *minor = 0;
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char*, int headers,
                                        const char* const* texts, const char* const* names) {
  const std::filesystem::path folder = bitgate_host::rtc::new_folder();
  if (!source || folder.empty())
    return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
  for (int at = 0; at < headers; ++at)
    if (!bitgate_host::rtc::write(folder / names[at], texts[at]))
      return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
  *program = new _hiprtcProgram{source, "", "", folder, {}, {}};
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char* expression) {
  if (!program->image.empty())
    return HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  program->lowered.push_back("expression_" + std::to_string(program->expressions.size()));
  program->expressions.emplace_back(expression);
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char* expression, const char** name) {
  if (program->image.empty())
    return HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  for (size_t at = 0; at < program->expressions.size(); ++at)
    if (program->expressions[at] == expression) {
      *name = program->lowered[at].c_str();
      return HIPRTC_SUCCESS;
    }
  return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}
inline hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char* const* options) {
  using namespace bitgate_host::rtc;
  const std::filesystem::path source = program->folder / "program.hip",
                              library = program->folder / "program.so";
  if (!write(source, "#include <hip/hip_runtime.h>\n#line 1 \"program.hip\"\n" + program->source +
                         launchers(*program)))
    return HIPRTC_ERROR_INTERNAL_ERROR;
  // The compiler is no program of `bitgate exec`.
  std::string command = "env -u LD_PRELOAD -u BITGATE_EXEC " BITGATE_HIPCC " -shared -fPIC";
#if defined(BITGATE_WATCHED)
  command += " --race";
#endif
  for (int at = 0; at < count; ++at)
    if (std::strncmp(options[at], "--gpu-architecture", 18) != 0)
      command += " " + quoted(options[at]);
  const std::filesystem::path log = program->folder / "log";
  command += " -I " + quoted(program->folder) + " " + quoted(source) + " -o " + quoted(library) + " 2> " +
             quoted(log);
  const int code = std::system(command.c_str());
  std::ifstream said(log);
  program->log.assign(std::istreambuf_iterator<char>(said), {});
  if (code != 0)
    return HIPRTC_ERROR_COMPILATION;
  program->image = bitgate_host::moduleMagic + library.string();
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* bytes) {
  *bytes = program->image.size() + 1;
  return program->image.empty() ? HIPRTC_ERROR_INVALID_PROGRAM : HIPRTC_SUCCESS;
}
inline hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) {
  std::memcpy(code, program->image.c_str(), program->image.size() + 1);
  return program->image.empty() ? HIPRTC_ERROR_INVALID_PROGRAM : HIPRTC_SUCCESS;
}
