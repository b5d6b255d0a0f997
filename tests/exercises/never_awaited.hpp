#pragma once
/// @file
/// Collectives that a rank has issued and never waited for: reported by subjects, and looked at by judges before
/// anything else. Their results arrive at some later synchronize(), or never, so what else is wrong is a consequence.
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "exercise/collectives.hpp"

namespace lockstep::exercise {

/// The name under which a subject reports never_awaited().
inline constexpr const char* kNeverAwaited = "never_awaited";

/// "an all_reduce of 8 values" for the first kind of which fewer were waited for than were issued, with how many if
/// there are several; empty if none is left.
[[nodiscard]] inline std::string never_awaited(const LinkCollectives& group) {
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> left;
  for (const CollectiveEvent& event : group.events())
    left[{event.operation, event.count}] += event.kind == CollectiveEvent::Kind::kIssued ? 1 : -1;
  for (const auto& [what, times] : left) {
    if (times <= 0) continue;
    const auto& [operation, count] = what;
    return concat(times == 1 ? concat(operation.starts_with("all_") ? "an " : "a ", operation)
                             : concat(times, " ", operation, "s"),
                  " of ", count, count == 1 ? " value" : " values");
  }
  return "";
}

}  // namespace lockstep::exercise
