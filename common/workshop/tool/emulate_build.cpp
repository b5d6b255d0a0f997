#include "tool/emulate_build.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/nearest_match.hpp"
#include "emulator/translate/source_tree.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

// addr2line of binutils 2.40 takes file 1 of DWARF 5 for the compiled file, not the one named by #line.
constexpr const char* kDebugFormat = "-gdwarf-4";
constexpr std::size_t kMostKept = 100;  // programs; some 200 KB each

// A private folder during a build; removed unless it was renamed.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) : path_(parent / concat("building-", ::getpid())) {
    fs::remove_all(path_);  // left by a killed process with the same id
    fs::create_directories(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;  // leftovers are removed by the next process with this id
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

void require_source(const fs::path& source) {
  std::error_code ignored;
  if (fs::is_regular_file(source, ignored)) return;
  if (fs::is_directory(source, ignored)) throw UsageError(concat(source.string(), " is a folder, not a CUDA source"));
  std::vector<std::string> names;
  const fs::path folder = source.has_parent_path() ? source.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().filename().string());
  }
  throw UsageError(concat("there is no file ", source.string(), did_you_mean(source.filename().string(), names)));
}

translate::TranslatedTree translate_or_explain(const fs::path& source, const fs::path& output) {
  translate::TranslatedTree tree;
  try {
    tree = translate::translate_tree(source, output, source.string());
  } catch (const FormatError& error) {
    throw UsageError(error.what());
  }
  if (!tree.has_main) {
    throw UsageError(concat(source.string(),
                            " has no main(): add one that allocates memory, launches the kernel, copies the "
                            "result back and checks it"));
  }
  return tree;
}

std::vector<std::string> compiler_options(const Project& project, EmulatedCode code) {
  const std::string common = (project.root / "common").string();
  std::vector<std::string> options = {"-std=c++20", "-w", "-g", kDebugFormat,
                                      concat("-I", common, "/gpu/emulator/cuda")};
  for (const char* wing : {"", "/gpu", "/ranks", "/train"}) options.push_back(concat("-I", common, wing));
  if (code == EmulatedCode::kPlain) {
    options.emplace_back("-O2");
  } else {
    std::istringstream checked(LOCKSTEP_CHECKED_OPTIONS " -fsanitize=bounds");
    for (std::string option; checked >> option;) options.push_back(option);
  }
  return options;
}

void add_time(std::ostream& text, const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  if (!error) text << file.string() << " " << time.time_since_epoch().count() << "\n";
}

// A name derived from everything that the program depends on: the sources' contents, options, compiler, emulator.
std::string content_name(const Project& project, const translate::TranslatedTree& tree,
                         const std::vector<std::string>& options, const fs::path& source) {
  std::ostringstream text;
  text << LOCKSTEP_HOST_COMPILER << "\n" << source.string() << "\n" << fs::current_path().string() << "\n";
  for (const std::string& option : options) text << option << "\n";
  add_time(text, LOCKSTEP_HOST_COMPILER);
  add_time(text, LOCKSTEP_EMULATOR_LIBRARY);
  for (const auto& entry : fs::recursive_directory_iterator(project.root / "common" / "gpu" / "emulator" / "cuda")) {
    add_time(text, entry.path());
  }
  for (const fs::path& input : tree.inputs) text << input.string() << "\n" << read_file(input) << "\n";
  const std::string all = text.str();
  std::ostringstream name;
  name << std::hex << std::setw(16) << std::setfill('0') << XXH3_64bits(all.data(), all.size());
  return name.str();
}

void compile(const fs::path& folder, const fs::path& translated, const std::vector<std::string>& options,
             const fs::path& source) {
  const std::string object = (folder / "program.o").string();
  std::vector<std::string> command = {LOCKSTEP_HOST_COMPILER};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-c", translated.string(), "-o", object});
  if (run_and_wait(command) != 0) {
    throw Error(concat("the compiler refused ", source.string(), "; its messages above name lines of this file"));
  }
  const fs::path library = LOCKSTEP_EMULATOR_LIBRARY;
  if (!fs::exists(library)) throw Error(concat("the emulator is not built: ", library.string(), " is missing"));
  // Not linked with -fsanitize: the emulator defines the functions called by instrumented code.
  const int status =
      run_and_wait({LOCKSTEP_HOST_COMPILER, object, "-o", (folder / "program").string(), library.string(),
                    concat("-Wl,-rpath,", library.parent_path().string()), "-rdynamic", "-pthread"});
  if (status != 0) throw Error(concat(source.string(), " compiles but does not link; what is missing is named above"));
}

// Removes the oldest programs.
void prune(const fs::path& kept) {
  std::vector<std::pair<fs::file_time_type, fs::path>> programs;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(kept, ignored)) {
    programs.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  if (programs.size() <= kMostKept) return;
  std::ranges::sort(programs);
  for (std::size_t i = 0; i < programs.size() - kMostKept; ++i) fs::remove_all(programs[i].second, ignored);
}

}  // namespace

fs::path build_emulated(const Project& project, const std::string& source, EmulatedCode code) {
  require_source(source);
  const fs::path kept = project.build / "emulate";
  const WorkFolder work(kept);
  const fs::path translated = work.path() / (fs::path(source).filename().string() + ".cpp");
  const translate::TranslatedTree tree = translate_or_explain(source, translated);
  const std::vector<std::string> options = compiler_options(project, code);
  const fs::path place = kept / content_name(project, tree, options, source);
  if (fs::exists(place / "program")) return place / "program";
  compile(work.path(), translated, options, source);
  std::error_code is_there;  // another process may have built the same program meanwhile
  fs::rename(work.path(), place, is_there);
  if (!fs::exists(place / "program")) throw Error(concat("cannot keep the program as ", place.string()));
  prune(kept);
  return place / "program";
}

}  // namespace lockstep::tool
