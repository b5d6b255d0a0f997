#include "run/matmul_algorithms.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/utf8.hpp"
#include "comm/job_context.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"
#include "kernels/algorithm_choices.hpp"
#include "run/run_folder.hpp"
#include "run/shared_decisions.hpp"

namespace lockstep::run {

namespace {

// A decision is called by the product; what is decided are the library and its algorithm.
constexpr char kBetween = '\n';

std::shared_ptr<SharedDecisions> shared_decisions(const comm::ProcessGroup* group) {
  if (group == nullptr || group->world_size() == 1) return nullptr;
  const comm::JobContext& job = group->context();
  const std::string prefix = concat("matmul_algorithms/", job.generation, "/", job.group_id.value_or(-1), "/");
  return std::make_shared<SharedDecisions>(job.store, prefix, job.global_rank(job.rank), job.limits.join);
}

std::string agree(SharedDecisions& decisions, const kernels::AlgorithmDecision& asked) {
  const std::string made =
      decisions.decide(asked.product, [&] { return concat(asked.library, kBetween, asked.decide()); });
  return made.substr(made.find(kBetween) + 1);
}

kernels::ChoiceRule rule_of(const RunOptions& options, const std::shared_ptr<SharedDecisions>& decisions) {
  kernels::ChoiceRule rule;
  // Times on the emulator say nothing about a GPU.
  rule.times =
      options.device.matmul_algorithms == "timed" && Device::parse(options.device.name).type == DeviceType::kCuda;
  if (decisions)
    rule.agree = [decisions](const kernels::AlgorithmDecision& decision) { return agree(*decisions, decision); };
  return rule;
}

// Rank 0's table as {"text"}, or {"error"}, so that all ranks fail alike.
nlohmann::json read_table(const std::string& path) {
  try {
    const std::string text = read_file(path);
    (void)kernels::AlgorithmTable::parse(text, path);
    return {{"text", text}};
  } catch (const Error& error) {
    return {{"error", printable(error.what())}};
  }
}

kernels::AlgorithmTable given_table(const std::string& option, const Ranks& ranks) {
  if (option == "timed") return {};
  nlohmann::json table;
  if (ranks.is_main()) table = read_table(option);
  if (ranks.group() != nullptr) table = comm::broadcast_object(*ranks.group(), table, 0);
  if (!table.contains("error")) return kernels::AlgorithmTable::parse(table.at("text").get<std::string>(), option);
  const std::string message = concat("--matmul-algorithms: ", table.at("error").get<std::string>());
  if (ranks.group() != nullptr) ranks.group()->prepare_common_error(message, 0);
  throw FormatError(message);
}

// Checkpoints have the choices too, so a file that cannot be written does not end a run.
void leave_for_other_runs(const std::string& text, const std::filesystem::path& file) {
  try {
    replace_file(file, text);
  } catch (const Error& error) {
    Logger().warning(concat("the choices of --matmul-algorithms are in the checkpoints only: ", error.what()));
  }
}

}  // namespace

MatmulAlgorithms::MatmulAlgorithms(const RunOptions& options, const Ranks& ranks) {
  const std::string& option = options.device.matmul_algorithms;
  if (option == "first") return;
  decisions_ = shared_decisions(ranks.group());
  choices_ = std::make_shared<kernels::AlgorithmChoices>(rule_of(options, decisions_), given_table(option, ranks));
  kernels::set_algorithm_chooser(choices_);
}

MatmulAlgorithms::~MatmulAlgorithms() {
  if (choices_ && kernels::algorithm_chooser() == choices_) kernels::set_algorithm_chooser(nullptr);
}

std::optional<KeptState> MatmulAlgorithms::state(const std::filesystem::path& run_folder) {
  if (!choices_) return std::nullopt;
  return KeptState{.name = "matmul_algorithms",
                   .save = [this, run_folder] { return save(run_folder); },
                   .load =
                       [choices = choices_](const nlohmann::json& text) {
                         if (text.is_null()) return;  // no product was needed until then
                         const std::string where = "the checkpoint's state.json, entry matmul_algorithms";
                         choices->set_all(kernels::AlgorithmTable::parse(text.get<std::string>(), where));
                       }};
}

nlohmann::json MatmulAlgorithms::save(const std::filesystem::path& run_folder) {
  if (decisions_) {
    kernels::AlgorithmTable of_others;
    for (const auto& [product, decision] : decisions_->take_new()) {
      const std::size_t end = decision.find(kBetween);
      of_others.set(decision.substr(0, end), product, {decision.substr(end + 1), "the choice of another rank"});
    }
    choices_->set_all(of_others);
  }
  const kernels::AlgorithmTable table = choices_->table();
  if (table.is_empty()) return nullptr;
  leave_for_other_runs(table.text(), run_folder / kAlgorithmsFile);
  return table.text();
}

}  // namespace lockstep::run
