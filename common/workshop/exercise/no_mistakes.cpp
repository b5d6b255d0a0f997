#include "exercise/subject.hpp"

namespace lockstep::exercise {

std::span<const Mistake> mistakes() noexcept { return {}; }

}  // namespace lockstep::exercise
