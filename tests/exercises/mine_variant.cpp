// Links an exercise's mistakes or its unusual right answers into a trainer: LOCKSTEP_VARIANT names the one to train
// with.
#include <string_view>

#include "base/environment.hpp"
#include "exercise/alternatives.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

bool is_mistake(std::string_view name) { return environment::get("LOCKSTEP_VARIANT") == name; }
bool is_alternative(std::string_view name) { return environment::get("LOCKSTEP_VARIANT") == name; }

}  // namespace lockstep::exercise
