#include "08_accelerate/tracking/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::accelerate {

RecordFile::RecordFile(std::filesystem::path path)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (!file_.is_open()) throw IoError(concat("opening ", path_.string()), errno);
  is_new_ = ::lseek(file_.get(), 0, SEEK_END) == 0;
}

void RecordFile::append(std::string_view record) { write_all(file_.get(), record, path_); }

}  // namespace lockstep::accelerate
