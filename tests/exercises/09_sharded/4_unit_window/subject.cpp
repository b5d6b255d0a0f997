#include "exercise/subject.hpp"

#include "09_sharded/4_unit_window/unit_window.hpp"

namespace lockstep::exercise {

// Fetches the units of "fetches", in which -1 ends a pass. Reports what each call has said: how many units to release,
// these, and after a fetch the unit to prefetch, or -1.
Answer answer(Question& question) {
  sharded::WindowPlan window;
  std::vector<std::int64_t> moves;
  bool is_in_pass = false;
  const auto report = [&](const std::vector<std::size_t>& released) {
    moves.push_back(static_cast<std::int64_t>(released.size()));
    moves.insert(moves.end(), released.begin(), released.end());
  };
  for (const std::int64_t unit : question.numbers<std::int64_t>("fetches")) {
    if (!is_in_pass) window.begin_pass();
    is_in_pass = unit >= 0;
    if (!is_in_pass) {
      report(window.end_pass());
      continue;
    }
    const sharded::Moves said = window.on_fetch(static_cast<std::size_t>(unit));
    report(said.release);
    moves.push_back(said.prefetch ? static_cast<std::int64_t>(*said.prefetch) : -1);
  }
  Answer result;
  result.set_numbers<std::int64_t>("moves", moves);
  return result;
}

}  // namespace lockstep::exercise
