#pragma once
/// @file
/// Eight things that can go wrong between a server and its clients, as plays for an AttackHarness.
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "01_mini_all_reduce/attack_harness.hpp"

namespace lockstep::star {

/// One way to break a server. Its play is the same for both servers.
struct Attack {
  std::string_view name;            ///< On the command line: "short-read".
  std::string_view what_happens;    ///< "a message arrives in two pieces".
  std::string_view answer;          ///< The defence against it.
  std::string_view layer;           ///< The header of that layer, from the project's root.
  Outcome (*play)(AttackHarness&);  ///< From the first connection to the server's end.
  std::int64_t count = 3;           ///< Values per client.
  bool is_about_silence = false;    ///< Gives the server a timeout of one second.
};

/// All of them, in the order of the lesson.
[[nodiscard]] std::span<const Attack> attacks();

/// @throws UsageError  Unknown attack; lists the known ones.
[[nodiscard]] const Attack& attack_named(std::string_view name);

/// Whether the server did its job in spite of the attack, and why.
struct Verdict {
  bool holds = false;
  std::string text;  ///< One line.
};

/// Plays an attack on a new server.
/// @param transcript  Receives one line per event.
/// @throws IoError, TimeoutError  The server cannot be started or reached.
[[nodiscard]] Verdict play(const Attack& attack, ServerKind kind, std::ostream& transcript);

}  // namespace lockstep::star
