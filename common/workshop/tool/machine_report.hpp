#pragma once
/// @file
/// What a machine has that matters to training: the report of `lockstep doctor`. Nothing in it is secret: no tokens, no
/// addresses, no other variables than those that change how a job runs, and `~` for the user's home folder.
#include <string>
#include <vector>

namespace lockstep::tool {

/// One line of the report.
struct Fact {
  std::string name;     ///< "memory"
  std::string value;    ///< "7.6 GiB available of 15.9"
  std::string trouble;  ///< What is wrong with that, and what to do; empty: nothing.
};

/// Lines below one heading.
struct FactGroup {
  std::string title;        ///< "machine"
  std::vector<Fact> facts;  ///< In the order in which they are shown.
};

/// Everything, at once unless a name server does not answer. What cannot be read says so; nothing is thrown for it.
[[nodiscard]] std::vector<FactGroup> describe_machine();

/// The value behind "key:" or "key=" in a file of such lines, without quotes; "unknown" where there is none.
[[nodiscard]] std::string field_of(const std::string& path, const std::string& key);

}  // namespace lockstep::tool
