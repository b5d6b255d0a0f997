#include "base/state_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep {

std::filesystem::path temporary_folder() {
  const std::string folder = environment::get("TMPDIR").value_or("/tmp");
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  throw IoError(concat("TMPDIR=", folder, " is not a folder: make it, or unset TMPDIR"), error.value());
}

std::filesystem::path state_folder() {
  if (const auto set = environment::get("LOCKSTEP_STATE_DIR")) return *set;
  return temporary_folder() / ("lockstep-" + std::to_string(geteuid()));
}

void make_private_folder(const std::filesystem::path& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw IoError(concat("cannot make the folder ", path.string()), errno);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) throw IoError(concat("cannot read ", path.string()), errno);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid())
    throw IoError(concat(path.string(), " is not a folder of this user; set LOCKSTEP_STATE_DIR to one"));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw IoError(concat("other users may write to ", path.string(), ": chmod go-w ", path.string()));
}

}  // namespace lockstep
