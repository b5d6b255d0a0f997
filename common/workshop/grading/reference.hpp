#pragma once
/// @file
/// Whether what somebody hands in is our solution, as `lockstep use-reference` puts it into a learner's folder.
#include <filesystem>

#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"

namespace lockstep::grading {

/// Where the files of an exercise come from, as far as their text tells.
enum class Origin {
  kOwn,        ///< They are not our solution. Copied and then changed is found by a similarity checker, not here.
  kReference,  ///< They are our solution.
  kUnclear     ///< The same code, but so short that two people can write it alike.
};

/// Compares an exercise's files with our solution. Equal bytes are our solution, since templates and files made from
/// them lack its marks ("SOLUTION(02.1)"). Where only comments and white space differ, it is our solution too, unless
/// so few characters of code are not given by the template that others may well write the same, and the learner has not
/// said that they are ours.
/// @param root  Of the project. Without a folder solutions/ everything is kOwn.
/// @param submission     Its files; where one of the exercise's is missing: kOwn.
/// @param is_taken_over  The manifest says so.
/// @throws IoError  A solution or template cannot be read.
[[nodiscard]] Origin origin_of(const std::filesystem::path& root, const exercise::Exercise& exercise,
                               const Files& submission, bool is_taken_over);

}  // namespace lockstep::grading
