#pragma once
/// @file
/// The files of a submission made into a program, in a sandbox where the course's solutions and tests do not exist.
#include <filesystem>
#include <string>

#include "exercise_tool/workspace.hpp"
#include "grading/archive.hpp"
#include "grading/sandbox.hpp"

namespace lockstep::grading {

/// Copies what a submission may include, the headers of common/, chapters/ and exercises/, to `stage`. @throws IoError
void make_stage(const exercise::Workspace& workspace, const std::filesystem::path& stage);

/// A program, or why there is none.
struct SubmittedProgram {
  std::filesystem::path program = {};                 ///< Empty: there is none.
  std::vector<std::filesystem::path> libraries = {};  ///< Of the build folder, that it loads when it starts.
  std::vector<std::filesystem::path> sources = {};    ///< The submission's files, as they were compiled.
  std::string errors = {};                            ///< What the compiler said; empty: it is built.
  std::string setup = {};  ///< What went wrong that is not the submission's fault; empty: nothing.
};

/// Compiles and links the files of one exercise with the commands that made the solution. If that fails, and not
/// clearly because of the files, our template is compiled in the same way: if that fails too, it is this machine's
/// fault
/// (`setup`). If not, the submission gets another try.
/// @param files    By their paths in the submission. @param stage  As of make_stage().
/// @param scratch  An empty folder of this submission; the program is left in it.
/// @pre adopt_orphans(), exercise::build_given(). @throws IoError  Files cannot be written.
[[nodiscard]] SubmittedProgram build_submission(const exercise::Workspace& workspace,
                                                const exercise::Exercise& exercise, const Files& files,
                                                const Sandbox& sandbox, const std::filesystem::path& stage,
                                                const std::filesystem::path& scratch);

}  // namespace lockstep::grading
