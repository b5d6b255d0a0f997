#pragma once
/// @file
/// The report of `lockstep doctor`: the properties of a machine that matter for training. It contains no secrets: no
/// tokens, no addresses, only variables that change how a job runs, and `~` for the user's home folder.
#include <string>
#include <vector>

namespace lockstep::tool {

/// One line of the report.
struct Fact {
  std::string name;     ///< "memory"
  std::string value;    ///< "7.6 GiB available of 15.9"
  std::string trouble;  ///< The problem and its remedy; empty if there is none.
};

/// Lines below one heading.
struct FactGroup {
  std::string title;  ///< "machine"
  std::vector<Fact> facts;
};

/// The whole report, quick unless a name server does not answer. Reports values that cannot be read; never throws.
[[nodiscard]] std::vector<FactGroup> describe_machine();

/// The value after "key:" or "key=" in a file of such lines, without quotes; "unknown" if there is none.
[[nodiscard]] std::string field_of(const std::string& path, const std::string& key);

}  // namespace lockstep::tool
