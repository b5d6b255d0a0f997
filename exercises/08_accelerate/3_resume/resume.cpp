#include "08_accelerate/3_resume/resume.hpp"

namespace lockstep::accelerate {

std::vector<std::int64_t> ResumableShard::begin_iteration() {
  // TODO(08.3): find what is left of the epoch, or of the next one, and deal it
  lockstep::todo("08.3 begin_iteration");
}

void ResumableShard::advance() {
  // TODO(08.3): count the samples of all ranks
  lockstep::todo("08.3 advance");
}

void ResumableShard::skip_first_batches(std::int64_t batches) {
  // TODO(08.3): choose the position within the epoch
  lockstep::todo("08.3 skip_first_batches");
}

}  // namespace lockstep::accelerate
