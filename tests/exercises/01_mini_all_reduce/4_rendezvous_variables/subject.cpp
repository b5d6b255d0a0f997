#include "exercise/subject.hpp"

#include <iostream>
#include <optional>
#include <stdexcept>

#include "01_mini_all_reduce/4_rendezvous_variables/rendezvous_variables.hpp"

namespace lockstep::exercise {
namespace {

void set_membership(Answer& result, const rendezvous::Membership& member) {
  result.set("ending", std::string("a membership"));
  result.set("rank", member.rank);
  result.set("world_size", member.world_size);
  result.set("master_addr", member.master_addr);
  result.set("master_port", member.master_port);
}

// Everybody words messages differently. They are a part of the answer only if they are asked for: answers that
// differ are different mistakes.
void set_error(Answer& result, const Question& question, const char* type, const std::exception& error) {
  result.set("ending", std::string(type));
  if (question.get<bool>("wants_message")) result.set("message", std::string(error.what()));
  std::cout << error.what() << std::flush;
}

}  // namespace

Answer answer(Question& question) {
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    for (const char* known : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
      if (name != known) continue;
      std::string text = question.get<std::string>(name);
      if (!text.empty()) return text;
    }
    return std::nullopt;
  };
  Answer result;
  try {
    set_membership(result, rendezvous::read_membership(lookup));
  } catch (const FormatError& error) {
    set_error(result, question, "FormatError", error);
  } catch (const std::invalid_argument& error) {
    set_error(result, question, "std::invalid_argument", error);
  } catch (const std::out_of_range& error) {
    set_error(result, question, "std::out_of_range", error);
  } catch (const std::bad_optional_access& error) {  // value() of what lookup() did not find
    set_error(result, question, "std::bad_optional_access", error);
  }
  return result;
}

}  // namespace lockstep::exercise
