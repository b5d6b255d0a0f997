#pragma once
/// @file
/// The learner's files made into a program: compiled and linked with exactly the commands that make the template.
#include <optional>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// A program, or why there is none.
struct BuiltProgram {
  std::filesystem::path program;  ///< Empty: there is none.
  std::string errors;  ///< What the compiler or linker said, paths as the learner knows them; empty: it is built.
};

/// Builds what is given for an exercise: judge, bank of mistakes, the template whose commands are used.
/// @throws Error  That fails, which is not the learner's fault.
void build_given(const Workspace& workspace, const Exercise& exercise);
/// The same for any target of ours.
void build_given(const Workspace& workspace, const std::string& target);

/// The commands that make the files in `folder` into a program, in order, for `sh` in the build folder.
/// @param folder, name  As for build_files(). @pre build_given(). @throws Error  ninja cannot say them.
[[nodiscard]] std::vector<std::string> build_commands(const Workspace& workspace, const Exercise& exercise,
                                                      const std::filesystem::path& folder, const std::string& name);

/// What a compiler said, with paths as the learner types them.
[[nodiscard]] std::string as_learner_knows(const Workspace& workspace, const std::string& errors);

/// Compiles and links the files in `folder` in the place of the template's.
/// @param folder  With the exercise's files. @param name  Of the result, for its objects' folder.
/// @pre build_given().
[[nodiscard]] BuiltProgram build_files(const Workspace& workspace, const Exercise& exercise,
                                       const std::filesystem::path& folder, const std::string& name);

/// Links a program that is made from templates with the learner's files of some exercises in their place.
/// @param program  Its target; it is in the folder exercises of the build. @param exercises  Whose files are exchanged.
/// @pre build_given(program).
[[nodiscard]] BuiltProgram build_with_learners_files(const Workspace& workspace, const std::string& program,
                                                     const std::vector<const Exercise*>& exercises);

/// Programs of an exercise in the build folder. @param variant  solution, template or bank.
[[nodiscard]] std::filesystem::path program_of(const Workspace& workspace, const Exercise& exercise,
                                               const std::string& variant);
/// The judge of an exercise's chapter.
[[nodiscard]] std::filesystem::path judge_of(const Workspace& workspace, const Exercise& exercise);

}  // namespace lockstep::exercise
