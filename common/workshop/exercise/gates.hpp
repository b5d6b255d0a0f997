#pragma once
/// @file
/// Conditions that every exercise must meet so that its verdicts are meaningful. `ctest -L exercises` checks all
/// exercises, `./lockstep author check` one. Each function returns the faults it found, one per line; empty: none.
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Runs a program to its end. @return  Its output. @throws Error  It exited with another status than 0.
using RunProgram = std::function<std::string(const std::vector<std::string>& command)>;

struct Gates {
  std::filesystem::path root;
  std::filesystem::path programs;  ///< Contains judges and subjects.
  RunProgram run;                  ///< Called with a judge and its arguments.

  /// The template matches the solution, its folder has no other files, and there are three hints.
  [[nodiscard]] std::string faults_of_files(const Exercise& exercise) const;
  /// The template fails as intended: by its own todo(), or with the verdict of the fault to mend.
  [[nodiscard]] std::string faults_of_template(const Exercise& exercise) const;
  /// The solution passes all checks with several seeds, and there are at least four checks.
  [[nodiscard]] std::string faults_of_solution(const Exercise& exercise) const;
  /// Every mistake of the bank fails and is identified unambiguously; there are at least four.
  [[nodiscard]] std::string faults_of_bank(const Exercise& exercise) const;
  /// True if it has a file of unusual right answers, alternatives.cpp or alternatives.cu.
  [[nodiscard]] bool has_alternatives(const Exercise& exercise) const;
  /// Every unusual right answer passes all checks, each with a different seed; there are at least two.
  [[nodiscard]] std::string faults_of_alternatives(const Exercise& exercise) const;

 private:
  [[nodiscard]] nlohmann::json judge(const Exercise& exercise, std::vector<std::string> arguments) const;
  [[nodiscard]] std::string program_of(const Exercise& exercise, const std::string& variant) const;
};

}  // namespace lockstep::exercise
