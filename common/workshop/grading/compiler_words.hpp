#pragma once
/// @file
/// What a compiler said about a submission, or about the machine.
#include <string>
#include <vector>

namespace lockstep::grading {

/// Whether a compiler or a linker complains about one of these files, and about nothing that the machine lacks: space,
/// memory, a header, a library. If not, it may be the machine's fault, and the text alone does not tell: a submission
/// can make a compiler say anything.
/// @param said   Standard error of a compiler that failed. @param files  Names of a submission's files, without
/// folders.
[[nodiscard]] bool is_about_files(const std::string& said, const std::vector<std::string>& files);

/// The same text with one name for all of a compiler's temporary files, which it chooses at random: equal submissions
/// get equal feedback.
[[nodiscard]] std::string without_random_names(const std::string& said);

}  // namespace lockstep::grading
