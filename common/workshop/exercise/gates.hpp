#pragma once
/// @file
/// What must hold of an exercise so that a verdict means something. `ctest -L exercises` holds it of all of them,
/// `./lockstep author check` of one. Each function returns what is wrong, in lines; empty text for nothing.
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

/// Runs a program to its end. @return  What it printed. @throws Error  It did not end with 0.
using RunProgram = std::function<std::string(const std::vector<std::string>& command)>;

/// An exercise, and how its programs are run.
struct Gates {
  std::filesystem::path root;      ///< Of the project.
  std::filesystem::path programs;  ///< Where judges and subjects are.
  RunProgram run;                  ///< Called with a judge and its arguments.

  /// The template is what the solution makes, nothing else lies beside it, and there are three hints.
  [[nodiscard]] std::string faults_of_files(const Exercise& exercise) const;
  /// The template fails as it is meant to: by its own todo(), or with the verdict that is to be mended.
  [[nodiscard]] std::string faults_of_template(const Exercise& exercise) const;
  /// The solution passes all checks with several seeds, and there are four checks.
  [[nodiscard]] std::string faults_of_solution(const Exercise& exercise) const;
  /// Every mistake of the bank fails and is named, alone; there are four.
  [[nodiscard]] std::string faults_of_bank(const Exercise& exercise) const;
  /// Whether it has a file of unusual right answers, alternatives.cpp or alternatives.cu.
  [[nodiscard]] bool has_alternatives(const Exercise& exercise) const;
  /// Every unusual right answer passes all checks, each with another seed; there are two.
  [[nodiscard]] std::string faults_of_alternatives(const Exercise& exercise) const;

 private:
  [[nodiscard]] nlohmann::json judge(const Exercise& exercise, std::vector<std::string> arguments) const;
  [[nodiscard]] std::string program_of(const Exercise& exercise, const std::string& variant) const;
};

}  // namespace lockstep::exercise
