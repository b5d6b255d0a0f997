#pragma once
/// @file
/// --matmul-algorithms: which of a library's algorithms multiply matrices in a run.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "run/ranks.hpp"
#include "run/run_options.hpp"
#include "run/training_state.hpp"

namespace lockstep::kernels {
class AlgorithmChoices;
}

namespace lockstep::run {

class SharedDecisions;

/// The file in a run's folder that has the choices of a run with --matmul-algorithms, for other runs.
constexpr const char* kAlgorithmsFile = "matmul_algorithms.txt";

/// While it lives, this process's products on a device are computed by algorithms that are the same on all ranks and,
/// by the run's checkpoints, after --resume. Does nothing with --matmul-algorithms first. Thread safety: none.
class MatmulAlgorithms {
 public:
  /// Collective if the option names a file, which only rank 0 reads.
  /// @throws FormatError  The file cannot be read, or is no such table; on all ranks.
  MatmulAlgorithms(const RunOptions& options, const Ranks& ranks);
  MatmulAlgorithms(const MatmulAlgorithms&) = delete;
  MatmulAlgorithms& operator=(const MatmulAlgorithms&) = delete;
  ~MatmulAlgorithms();

  /// The choices of all ranks, for the run's checkpoints; each save renews kAlgorithmsFile in the run's folder. Must
  /// not outlive this. Nothing with --matmul-algorithms first.
  [[nodiscard]] std::optional<KeptState> state(const std::filesystem::path& run_folder);

 private:
  [[nodiscard]] nlohmann::json save(const std::filesystem::path& run_folder);

  std::shared_ptr<SharedDecisions> decisions_;          // null: this process is alone, or nothing is chosen
  std::shared_ptr<kernels::AlgorithmChoices> choices_;  // null: nothing is chosen
};

}  // namespace lockstep::run
