#include "support/training_job.hpp"

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/random_words.hpp"

namespace lockstep::test {

namespace fs = std::filesystem;

TrainingJob::TrainingJob() { write_words(folder_ / "text.txt", 4000); }

Finished TrainingJob::train(const std::string& program, int world_size, const std::vector<std::string>& options,
                            const LaunchSettings& launch) const {
  std::vector<std::string> command{built_program("lockstep"), "launch", "--nproc", std::to_string(world_size)};
  const auto add = [&command](const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
  };
  add(launch.options);
  add({"--", program});
  add({"--data", path("text.txt").string(), "--out", path("runs").string()});
  add({"--batch-size", "12", "--dropout", "0.1", "--validate-every", "0", "--save-every", "0", "--sample-tokens", "0"});
  add(options);
  std::vector<std::pair<std::string, std::string>> variables{{"OMP_NUM_THREADS", "1"}};
  variables.insert(variables.end(), launch.variables.begin(), launch.variables.end());
  return run_program(command, variables);
}

fs::path TrainingJob::run() const { return fs::directory_iterator(path("runs"))->path(); }

std::vector<run::StepMetrics> TrainingJob::metrics() const { return run::read_metrics(run() / "metrics.jsonl"); }

std::vector<double> TrainingJob::losses() const {
  std::vector<double> losses;
  for (const run::StepMetrics& step : metrics()) losses.push_back(step.loss);
  return losses;
}

std::vector<double> TrainingJob::gradient_norms() const {
  std::vector<double> norms;
  for (const run::StepMetrics& step : metrics()) norms.push_back(step.gradient_norm.value_or(-1));
  return norms;
}

std::string TrainingJob::file(const std::string& name) const {
  return read_file(run() / "checkpoints" / "step_00000004" / name);
}

Finished check_options_under_mpirun(const std::vector<std::string>& command, int world_size) {
  return run_program(command, {{"LOCKSTEP_CHECK_OPTIONS", "1"},
                               {"RANK", ""},
                               {"WORLD_SIZE", ""},
                               {"OMPI_COMM_WORLD_RANK", "0"},
                               {"OMPI_COMM_WORLD_SIZE", std::to_string(world_size)}});
}

void require_success(const Finished& finished) {
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
}

void check_equal(const TrainingJob& found, const TrainingJob& expected) {
  const std::vector<run::StepMetrics> ours = found.metrics(), theirs = expected.metrics();
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO("step " << i + 1);
    CHECK(ours[i].loss == theirs[i].loss);
    CHECK(ours[i].validation_loss == theirs[i].validation_loss);
  }
  for (const char* const name : {"model.safetensors", "optimizer.safetensors"}) {
    INFO(name);
    const bool is_equal = found.file(name) == expected.file(name);  // not printed: megabytes
    CHECK(is_equal);
  }
}

}  // namespace lockstep::test
