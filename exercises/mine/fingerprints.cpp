#include "mine/fingerprints.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"

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

std::string description(std::span<const Part> parts, const Fingerprints& files) {
  std::ostringstream text;
  text << "whose code trains:\n";
  for (const Part& part : parts)
    text << "  " << std::left << std::setw(11) << part.name << owner_of(part, files) << "\n";
  return text.str();
}

void require_same(const std::string& text, comm::ProcessGroup& group) {
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(group.world_size()));
  hashes[static_cast<std::size_t>(group.rank())] = static_cast<std::int64_t>(std::hash<std::string>()(text));
  group.all_reduce(comm::host_buffer(std::span(hashes)), comm::ReduceOp::kSum, {.tag = "files"}).synchronize();
  const auto other = std::ranges::find_if(hashes, [&](std::int64_t hash) { return hash != hashes.front(); });
  if (other == hashes.end()) return;
  const auto rank = static_cast<int>(other - hashes.begin());
  const std::string message = concat("rank ", rank, " trains with other files than rank 0: LOCKSTEP_MINE, and what it ",
                                     "lists, must be the same on all ranks");
  group.prepare_common_error(message, rank);
  throw MismatchError(message);
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

void announce(std::span<const Part> parts, const Fingerprints& files, comm::ProcessGroup& group) {
  const std::string text = description(parts, files);
  require_same(text, group);
  if (group.rank() == 0) std::cout << text << std::endl;
}

}  // namespace lockstep::mine
