#pragma once
/// @file
/// Which files are the learner's. LOCKSTEP_MINE, which `./lockstep run NN --mine` sets, lists the exercises:
/// "02.1=4f2a91 05.1=0c77aa", each with the fingerprint of its files.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/process_group.hpp"

namespace lockstep::mine {

/// By exercise, the fingerprint of the learner's files.
using Fingerprints = std::map<std::string, std::string>;

/// A part of a training run. It is the learner's if all of its exercises are listed.
struct Part {
  std::string name;
  std::vector<std::string> exercises;
};

[[nodiscard]] bool is_learners(const Part& part, const Fingerprints& files);

/// What LOCKSTEP_MINE lists. @throws FormatError  It is not of that form, or none of `parts` needs one of its
/// exercises.
[[nodiscard]] Fingerprints read_fingerprints(std::span<const Part> parts);

/// Rank 0 prints a line for each part: whose code it is. Collective.
/// @throws MismatchError  Ranks have other files than rank 0: each would train with other code.
void announce(std::span<const Part> parts, const Fingerprints& files, comm::ProcessGroup& group);

}  // namespace lockstep::mine
