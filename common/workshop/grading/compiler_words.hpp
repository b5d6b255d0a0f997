#pragma once
/// @file
/// Decides whether a compiler's output is about a submission or about the machine.
#include <string>
#include <vector>

namespace lockstep::grading {

/// True if a compiler or a linker complains about one of these files, and about nothing that the machine lacks: space,
/// memory, a header, a library. False means that the machine may be at fault; the text alone cannot tell, since a
/// submission can make a compiler print anything.
/// @param said   Standard error of a failed compiler.
/// @param files  Names of a submission's files, without folders.
[[nodiscard]] bool is_about_files(const std::string& said, const std::vector<std::string>& files);

/// Gives a compiler's randomly named temporary files one fixed name: equal submissions get equal feedback.
[[nodiscard]] std::string without_random_names(const std::string& said);

}  // namespace lockstep::grading
