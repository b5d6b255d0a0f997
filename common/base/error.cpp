#include "base/error.hpp"

#include <cstring>

namespace lockstep {

IoError::IoError(const std::string& message, int error_number)
    : Error(error_number == 0 ? message : concat(message, ": ", std::strerror(error_number))),
      error_number_(error_number) {}

}  // namespace lockstep
