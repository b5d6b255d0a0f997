#pragma once
/// @file
/// What can go wrong between a server and its clients, as eight plays for a AttackHarness.
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "01_mini_all_reduce/attack_harness.hpp"

namespace lockstep::star {

/// One way to break a server. Its play is the same for both servers.
struct Attack {
  std::string_view name;            ///< As on the command line: "short-read".
  std::string_view what_happens;    ///< "a message arrives in two pieces".
  std::string_view answer;          ///< What withstands it.
  std::string_view layer;           ///< The header of that layer, from the project's root.
  Outcome (*play)(AttackHarness&);  ///< From clients that connect to the server's end.
  std::int64_t count = 3;           ///< Values of each client.
  bool is_about_silence = false;    ///< The server shall wait for one second only.
};

/// All of them, in the order of the lesson.
[[nodiscard]] std::span<const Attack> attacks();

/// @throws UsageError  No such attack; says which there are.
[[nodiscard]] const Attack& attack_named(std::string_view name);

/// Whether the server held, and one line that says what happened.
struct Verdict {
  bool holds = false;  ///< The server did what it should in spite of the attack.
  std::string text;    ///< What happened, in one line.
};

/// Plays an attack on a server of its own.
/// @param transcript  Gets a line per event.
/// @throws IoError, TimeoutError  The server cannot be started or reached.
[[nodiscard]] Verdict play(const Attack& attack, ServerKind kind, std::ostream& transcript);

}  // namespace lockstep::star
