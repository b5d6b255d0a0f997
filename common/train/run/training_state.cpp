#include "run/training_state.hpp"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/utf8.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/saver.hpp"
#include "checkpoint/writer_lock.hpp"
#include "comm/objects.hpp"
#include "run/run_folder.hpp"
#include "run/saved_state.hpp"

namespace lockstep::run {
namespace {

std::vector<checkpoint::NamedTensor> tensors_of(const nn::Module& model) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    require(named.slice == Slice::of(named.slice.whole), "a checkpoint holds whole parameters, and ", named.name,
            " is only ", named.slice.count(), " elements of ", named.slice.whole, "; save and load the whole model");
    tensors.push_back({named.name, named.parameter.value()});
  }
  for (const nn::NamedBuffer& named : model.named_buffers()) tensors.push_back({named.name, named.value});
  return tensors;
}

std::vector<checkpoint::NamedTensor> tensors_of(const optim::Optimizer& optimizer) {
  std::vector<checkpoint::NamedTensor> tensors;
  for (const optim::NamedTensor& named : optimizer.state()) tensors.push_back({named.name, named.tensor});
  return tensors;
}

checkpoint::SaveMode save_mode(const CheckpointOptions& options, std::int64_t last_step) {
  const bool saves_on_the_way = options.save_every > 0 && options.save_every < last_step;
  const bool is_background = options.async_save && saves_on_the_way;
  return is_background ? checkpoint::SaveMode::kBackground : checkpoint::SaveMode::kBlocking;
}

[[noreturn]] void throw_no_checkpoint(const std::filesystem::path& path, const checkpoint::CheckpointFolder& folder) {
  const std::vector<std::filesystem::path> damaged = folder.list();
  std::error_code ignored;
  if (damaged.empty()) {
    const bool is_missing = std::filesystem::status(path, ignored).type() == std::filesystem::file_type::not_found;
    const auto run = is_missing ? std::nullopt : latest_run(path);
    throw IoError(concat("no checkpoint in ", path.string(), is_missing ? ", which does not exist" : "",
                         ": name a run folder or a checkpoint", run ? ", such as " + run->string() : ""));
  }
  std::string names;
  for (const std::filesystem::path& one : damaged) names += concat(names.empty() ? "" : ", ", one.filename().string());
  throw IoError(concat("no checkpoint in ", path.string(), " is intact: ", names, damaged.size() == 1 ? " is" : " are",
                       " damaged (see the warning); restore it from a copy, or start a new run"));
}

// `path` itself if it is a checkpoint, or the newest one below it.
std::filesystem::path newest_checkpoint(const std::filesystem::path& path) {
  std::error_code ignored;  // errors are reported below
  const bool is_checkpoint = checkpoint::step_of(path)
                                 ? std::filesystem::is_directory(path, ignored)
                                 : std::filesystem::exists(path / checkpoint::kStateFile, ignored);
  if (is_checkpoint) return path;
  const auto root = std::filesystem::is_directory(checkpoints_of(path), ignored) ? checkpoints_of(path) : path;
  const checkpoint::CheckpointFolder folder(root);
  const auto latest = folder.latest();
  if (!latest) throw_no_checkpoint(path, folder);
  return *latest;
}

// Describes a problem with this rank's copy of rank 0's choice; empty: none.
std::string problem_with(const std::filesystem::path& checkpoint, const std::string& fingerprint) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(checkpoint, ignored)) return "has none of that name";
  try {
    if (checkpoint::fingerprint(checkpoint) != fingerprint) return "has a different one of that name";
    checkpoint::verify(checkpoint);
    return "";
  } catch (const Error& error) {
    return concat("cannot use its copy: ", printable(error.what()));  // it is sent as JSON
  }
}

// Rank 0's choice as {"checkpoint", "fingerprint"}, or {"error"}, so that all ranks fail alike.
nlohmann::json choose_checkpoint(const std::filesystem::path& checkpoints) {
  try {
    const std::filesystem::path newest = newest_checkpoint(checkpoints);
    return {{"checkpoint", printable(newest.string())},  // sent as JSON, and only displayed
            {"below", newest == checkpoints ? "." : newest.lexically_relative(checkpoints).string()},
            {"fingerprint", checkpoint::fingerprint(newest)}};
  } catch (const Error& error) {
    return {{"error", printable(error.what())}};
  }
}

// If each rank took the newest checkpoint that it finds, ranks could continue at different steps: because of separate
// disks, a network file system that shows files late, or a damaged file.
std::filesystem::path agree_on_checkpoint(const std::filesystem::path& checkpoints, comm::ProcessGroup& group) {
  nlohmann::json choice;
  if (group.rank() == 0) choice = choose_checkpoint(checkpoints);
  choice = comm::broadcast_object(group, choice, 0);
  std::string problems;
  if (!choice.contains("error")) {
    const std::string below = choice.at("below").get<std::string>();
    const std::filesystem::path own = below == "." ? checkpoints : checkpoints / below;
    const auto found =
        comm::all_gather_object(group, group.rank() == 0 ? "" : problem_with(own, choice.at("fingerprint")));
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      if (found[rank] != "")
        problems += concat(problems.empty() ? "" : "; ", "rank ", rank, " ", found[rank].get<std::string>());
    }
    if (problems.empty()) return own;
  }
  if (choice.contains("error")) {
    const std::string message = concat("rank 0: ", choice.at("error").get<std::string>());
    group.prepare_common_error(message, 0);
    throw IoError(message);
  }
  const std::string message = concat("rank 0 resumes from ", choice.at("checkpoint").get<std::string>(), ", but ",
                                     problems, "; copy rank 0's there, or keep runs in a folder that all ranks share");
  group.prepare_common_error(message);
  throw MismatchError(message);
}

}  // namespace

TrainingSaver::TrainingSaver(const std::filesystem::path& checkpoints, const CheckpointOptions& options,
                             nlohmann::json saved, std::int64_t last_step, const std::filesystem::path& resumed_from,
                             std::unique_ptr<checkpoint::WriterLock> lock)
    : checkpoints_(checkpoints),
      lock_(std::move(lock)),
      saver_(std::make_unique<checkpoint::Saver>(
          checkpoints,
          checkpoint::FolderOptions{.keep_last = static_cast<int>(options.keep_last), .resumed_from = resumed_from},
          save_mode(options, last_step))),
      options_(std::move(saved)) {}

TrainingSaver::TrainingSaver(TrainingSaver&&) noexcept = default;
TrainingSaver::~TrainingSaver() = default;

void TrainingSaver::prepare(const nn::Module& model, const optim::Optimizer& optimizer) {
  saver_->prepare({.model = tensors_of(model), .optimizer = tensors_of(optimizer)});
}

void TrainingSaver::save(std::int64_t step, const nn::Module& model, const optim::Optimizer& optimizer,
                         const data::Sampler& sampler, std::span<const KeptState> kept) {
  nlohmann::json state = state_of(step, optimizer.step_counts(), sampler, kept);
  saver_->save(step, checkpoint::Contents{.model = tensors_of(model), .optimizer = tensors_of(optimizer)},
               std::move(state));
}

void TrainingSaver::save(std::int64_t step, const checkpoint::StreamedContents& contents,
                         const optim::StepCounts& counts, const data::Sampler& sampler,
                         std::span<const KeptState> kept) {
  saver_->save(step, contents, state_of(step, counts, sampler, kept));
}

nlohmann::json TrainingSaver::state_of(std::int64_t step, const optim::StepCounts& counts, const data::Sampler& sampler,
                                       std::span<const KeptState> kept) {
  if (!lock_ || !lock_->is_in_place()) lock_ = std::make_unique<checkpoint::WriterLock>(checkpoints_);
  SavedState state{.step = step, .optimizer_steps = counts, .sampler = sampler.state(), .options = options_};
  for (const KeptState& own : kept) state.kept[own.name] = own.save();
  return to_json(state);
}

void TrainingSaver::finish() {
  try {
    if (!lock_ && std::filesystem::exists(checkpoints_)) lock_ = std::make_unique<checkpoint::WriterLock>(checkpoints_);
  } catch (const std::exception& error) {  // nothing was saved, so there is nothing to wait for
    Logger().warning(concat("old checkpoints stay in ", checkpoints_.string(), ": ", error.what()));
    return;
  }
  saver_->finish();
}

std::filesystem::path find_checkpoint(const std::filesystem::path& path, comm::ProcessGroup* group) {
  return group == nullptr ? newest_checkpoint(path) : agree_on_checkpoint(path, *group);
}

namespace {

// @param load_weights  Loads model and optimizer: called with the folder of the checkpoint and the update counts in it.
LoadedTraining load_with(
    const std::function<void(const std::filesystem::path&, const optim::StepCounts& counts)>& load_weights,
    const std::filesystem::path& checkpoints, data::Sampler& sampler, comm::ProcessGroup* group,
    std::span<const KeptState> kept) {
  const std::filesystem::path newest = find_checkpoint(checkpoints, group);
  // The state is read first, so that nothing is changed if it is invalid.
  const SavedState state = saved_state_from(checkpoint::load_state(newest), newest / checkpoint::kStateFile);
  sampler.require_loadable(state.sampler);
  load_weights(newest, state.optimizer_steps);
  for (const KeptState& own : kept) {
    if (state.kept.contains(own.name)) own.load(state.kept.at(own.name));
  }
  sampler.load_state(state.sampler);
  return {.step = state.step, .checkpoint = newest};
}

}  // namespace

LoadedTraining load_training(const std::filesystem::path& checkpoints, nn::Module& model, optim::Optimizer& optimizer,
                             data::Sampler& sampler, comm::ProcessGroup* group, std::span<const KeptState> kept) {
  const auto load_whole = [&](const std::filesystem::path& newest, const optim::StepCounts& counts) {
    (void)checkpoint::load(newest, {.model = tensors_of(model), .optimizer = tensors_of(optimizer)});
    optimizer.set_step_counts(counts);
  };
  return load_with(load_whole, checkpoints, sampler, group, kept);
}

LoadedTraining load_training(const std::filesystem::path& checkpoints, const TrainingParts& parts,
                             optim::Optimizer& optimizer, data::Sampler& sampler, comm::ProcessGroup* group,
                             std::span<const KeptState> kept) {
  const auto load_own = [&](const std::filesystem::path& newest, const optim::StepCounts& counts) {
    (void)checkpoint::load_parts(newest, {.model = parts.model, .optimizer = parts.optimizer});
    optimizer.set_step_counts(own_step_counts(counts, optimizer));
  };
  return load_with(load_own, checkpoints, sampler, group, kept);
}

void load_model(const std::filesystem::path& path, nn::Module& model) {
  (void)checkpoint::load(newest_checkpoint(path), {.model = tensors_of(model), .optimizer = {}});
}

nlohmann::json load_options(const std::filesystem::path& path) {
  const std::filesystem::path newest = newest_checkpoint(path);
  return saved_state_from(checkpoint::load_state(newest), newest / checkpoint::kStateFile).options;
}

void export_weights(const std::filesystem::path& path, const nn::Module& model) {
  checkpoint::write_safetensors(path, tensors_of(model));
}

}  // namespace lockstep::run
