#include "base/state_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep {

std::filesystem::path state_folder() {
  if (const auto set = environment::get("LOCKSTEP_STATE_DIR")) return *set;
  return std::filesystem::temp_directory_path() / ("lockstep-" + std::to_string(geteuid()));
}

void make_private_folder(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw IoError(concat("cannot make the folder ", path.string()), errno);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) throw IoError(concat("cannot read ", path.string()), errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    throw IoError(concat(path.string(), " is not a folder of this user; set LOCKSTEP_STATE_DIR to one"));
}

}  // namespace lockstep
