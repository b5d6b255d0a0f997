#pragma once
/// @file
/// Builds a submission in a sandbox without the course's solutions and tests.
#include <filesystem>
#include <string>

#include "exercise_tool/workspace.hpp"
#include "grading/archive.hpp"
#include "grading/sandbox.hpp"

namespace lockstep::grading {

/// Copies the headers of common/, chapters/ and exercises/, which a submission may include, to `stage`. @throws IoError
void make_stage(const exercise::Workspace& workspace, const std::filesystem::path& stage);

/// A program, or the reason for its absence.
struct SubmittedProgram {
  std::filesystem::path program = {};                 ///< Empty if the build failed.
  std::vector<std::filesystem::path> libraries = {};  ///< In the build folder; loaded when it starts.
  std::vector<std::filesystem::path> sources = {};    ///< The submission's files as compiled.
  std::string errors = {};                            ///< The compiler's output; empty if the build succeeded.
  std::string setup = {};  ///< A failure that is not the submission's fault; otherwise empty.
};

/// Compiles and links the files of one exercise with the commands that made the solution. If that fails, and not
/// clearly because of the files, our template is compiled in the same way. If the template fails too, the machine is at
/// fault (`setup`); otherwise the submission is tried once more.
/// @param files  By their paths in the submission. @param stage  From make_stage().
/// @param scratch  An empty folder for this submission; receives the program.
/// @pre adopt_orphans(), exercise::build_given(). @throws IoError  Files cannot be written.
[[nodiscard]] SubmittedProgram build_submission(const exercise::Workspace& workspace,
                                                const exercise::Exercise& exercise, const Files& files,
                                                const Sandbox& sandbox, const std::filesystem::path& stage,
                                                const std::filesystem::path& scratch);

}  // namespace lockstep::grading
