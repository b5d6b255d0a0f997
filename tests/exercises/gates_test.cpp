// Conditions on every exercise, so that a verdict means something: exercise/gates.hpp lists it.
#include "exercise/gates.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"

namespace lockstep::exercise {
namespace {

std::string run_judge(const std::vector<std::string>& command) {
  const test::Finished finished = test::run_program(command);
  if (finished.exit_code != 0) throw Error(concat("the judge failed: ", finished.err));
  return finished.out;
}

const Gates kGates = {.root = LOCKSTEP_PROJECT_ROOT, .programs = LOCKSTEP_EXERCISE_PROGRAMS, .run = run_judge};

// The exercises whose programs this build has. Kernels are judged by the emulator's checker, which builds for GPUs and
// builds with sanitizers lack.
std::vector<Exercise> built_exercises() {
  std::vector<Exercise> catalogue = read_catalogue(kGates.root);
#if !defined(LOCKSTEP_EMULATOR_HAS_CHECKER)
  std::erase_if(catalogue, [](const Exercise& exercise) { return exercise.has_kernels(); });
#endif
#if defined(LOCKSTEP_BUILT_FOR_GPU)
  std::erase_if(catalogue, [](const Exercise& exercise) { return exercise.needs_emulator; });
#endif
  return catalogue;
}

// The problems of each exercise. Most of the time of a trial is waiting, so several exercises are tried at once.
std::string faults_of_all(std::string (Gates::*faults_of)(const Exercise&) const) {
  const std::vector<Exercise> catalogue = built_exercises();
  std::vector<std::string> faults(catalogue.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < catalogue.size(); i = next++) {
      try {
        faults[i] = (kGates.*faults_of)(catalogue[i]);
      } catch (const std::exception& error) {
        faults[i] = concat(error.what(), "\n");
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back(work);
  }
  std::string all;
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (!faults[i].empty()) all += concat(catalogue[i].id, ": ", faults[i]);
  return all;
}

}  // namespace

TEST_CASE("every template is what its solution makes, and nothing else lies beside it", "[exercises]") {
  CHECK(faults_of_all(&Gates::faults_of_files) == "");
}

TEST_CASE("every template fails as it is meant to and in no other way", "[exercises]") {
  CHECK(faults_of_all(&Gates::faults_of_template) == "");
}

TEST_CASE("every solution passes all checks, whatever the seed", "[exercises]") {
  CHECK(faults_of_all(&Gates::faults_of_solution) == "");
}

TEST_CASE("every mistake of the bank fails, and is named", "[exercises]") {
  CHECK(faults_of_all(&Gates::faults_of_bank) == "");
}

TEST_CASE("every unusual right answer passes all checks", "[exercises]") {
  CHECK(faults_of_all(&Gates::faults_of_alternatives) == "");
}

}  // namespace lockstep::exercise
