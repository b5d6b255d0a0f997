#include "mine/fingerprints.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::mine {
namespace {

// "yours (02.1 4f2a91, 02.2 0c77aa)", or what is missing.
std::string owner_of(const Part& part, const Fingerprints& files) {
  std::string present, missing;
  for (const std::string& exercise : part.exercises) {
    const auto file = files.find(exercise);
    if (file != files.end()) present += concat(present.empty() ? "" : ", ", exercise, " ", file->second);
    if (file == files.end()) missing += concat(missing.empty() ? "" : ", ", exercise);
  }
  if (missing.empty()) return concat("yours (", present, ")");
  return present.empty() ? "ours" : concat("ours (yours, once ", missing, " has passed too)");
}

}  // namespace

bool is_learners(const Part& part, const Fingerprints& files) {
  return std::ranges::all_of(part.exercises, [&](const std::string& exercise) { return files.contains(exercise); });
}

Fingerprints read_fingerprints(std::span<const Part> parts) {
  Fingerprints files;
  std::istringstream words(environment::get("LOCKSTEP_MINE").value_or(""));
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string exercise = word.substr(0, equals);
    const bool is_known = std::ranges::any_of(
        parts, [&](const Part& part) { return std::ranges::find(part.exercises, exercise) != part.exercises.end(); });
    if (equals == std::string::npos || !is_known)
      throw FormatError(concat("LOCKSTEP_MINE: \"", word, "\" is no EXERCISE=FINGERPRINT that this program uses"));
    files[exercise] = word.substr(equals + 1);
  }
  return files;
}

std::string describe(std::span<const Part> parts, const Fingerprints& files) {
  std::ostringstream text;
  text << "whose code trains:\n";
  for (const Part& part : parts)
    text << "  " << std::left << std::setw(11) << part.name << owner_of(part, files) << "\n";
  return text.str();
}

}  // namespace lockstep::mine
