#pragma once
/// @file
/// Detects submissions of our solution, as `lockstep use-reference` copies it into a learner's folder.
#include <filesystem>

#include "exercise/catalogue.hpp"
#include "grading/archive.hpp"

namespace lockstep::grading {

/// The origin of an exercise's files, as far as their text shows.
enum class Origin {
  kOwn,        ///< Not our solution. Copying with changes is left to a similarity checker.
  kReference,  ///< They are our solution.
  kUnclear     ///< The same code, but so short that two people may write it alike.
};

/// Compares an exercise's files with our solution. Equal bytes mean our solution, since templates, and files made from
/// them, lack its marks ("SOLUTION(02.1)"). Files that differ only in comments and white space are our solution too,
/// unless the code beyond the template is so short that others may well write the same, and the learner has not
/// declared the files as ours.
/// @param root  The project's root. Without a folder solutions/ everything is kOwn.
/// @param submission  Its files; if one of the exercise's is missing: kOwn.
/// @param is_taken_over  From the manifest.
/// @throws IoError  A solution or template cannot be read.
[[nodiscard]] Origin origin_of(const std::filesystem::path& root, const exercise::Exercise& exercise,
                               const Files& submission, bool is_taken_over);

}  // namespace lockstep::grading
