#pragma once
/// @file
/// Builds a program from the learner's files, with exactly the commands that build the template.
#include <optional>
#include <string>
#include <vector>

#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {

/// A program, or the compiler's errors.
struct BuiltProgram {
  std::filesystem::path program;  ///< Empty if the build failed.
  std::string errors;  ///< Output of the compiler or linker, with paths as the learner types them; empty: it is built.
};

/// Builds our part of an exercise: judge, bank of mistakes, and the template whose commands are used.
/// @throws Error  The build fails, which is not the learner's fault.
void build_given(const Workspace& workspace, const Exercise& exercise);
/// The same for any target of ours.
void build_given(const Workspace& workspace, const std::string& target);

/// The commands that turn the files in `folder` into a program, in order, for `sh` in the build folder.
/// @param folder, name  As for build_files(). @pre build_given(). @throws Error  ninja cannot list them.
[[nodiscard]] std::vector<std::string> build_commands(const Workspace& workspace, const Exercise& exercise,
                                                      const std::filesystem::path& folder, const std::string& name);

/// A compiler's output, with paths as the learner types them, and without anything that could control a terminal: it
/// quotes the source.
[[nodiscard]] std::string as_learner_knows(const Workspace& workspace, const std::string& errors);

/// Compiles and links the files in `folder` instead of the template's.
/// @param folder  Contains the exercise's files. @param name  Name for the result and its objects' folder.
/// @pre build_given().
[[nodiscard]] BuiltProgram build_files(const Workspace& workspace, const Exercise& exercise,
                                       const std::filesystem::path& folder, const std::string& name);

/// A program's commands, with a learner's source in place of ours.
struct Relinked {
  std::string compile, link;
};
/// Changes both commands so that the object of the learner's source is linked. It is a file of its own: the template's
/// object stays as it is.
/// @param compile  Compiles our source. @param link  Links its object, or a library with such a source.
/// @param given, files  Our folder and the learner's, as they stand in commands. @throws Error  No object is compiled.
[[nodiscard]] Relinked with_learners_source(const std::string& compile, const std::string& link,
                                            const std::string& given, const std::string& files);

/// Links a program made from templates, replacing those of some exercises by the learner's files.
/// @param program  Its target, in the build's folder exercises. @param exercises  The ones to replace.
/// @pre build_given(program).
[[nodiscard]] BuiltProgram build_with_learners_files(const Workspace& workspace, const std::string& program,
                                                     const std::vector<const Exercise*>& exercises);

/// The path of an exercise's program in the build folder. @param variant  solution, template or bank.
[[nodiscard]] std::filesystem::path program_of(const Workspace& workspace, const Exercise& exercise,
                                               const std::string& variant);
/// The judge of an exercise's chapter.
[[nodiscard]] std::filesystem::path judge_of(const Workspace& workspace, const Exercise& exercise);

}  // namespace lockstep::exercise
