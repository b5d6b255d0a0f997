#include "08_accelerate/state/saved_objects.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "08_accelerate/process/partial_state.hpp"
#include "08_accelerate/state/state_reader.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/writer_lock.hpp"
#include "comm/objects.hpp"
#include "run/saved_state.hpp"

namespace lockstep::accelerate {
namespace {

using nlohmann::json;

// The first of a kind keeps its plain names, so that a file with one model has the usual names.
std::string prefix_of(std::string_view kind, std::size_t index) {
  return index == 0 ? std::string() : concat(kind, "_", index, ".");
}

void require_whole(const nn::NamedParameter& named) {
  require(
      named.slice == Slice::of(named.slice.whole), "save_state() and load_state() are for whole parameters, and ",
      named.name, " is only ", named.slice.count(), " elements of ", named.slice.whole,
      "; save a sharded model with sharded::save() and resume it with sharded::resume(), as train_gpt_sharded does");
}

// On all ranks, before any of them waits for another.
void require_whole(const SavedObjects& objects) {
  for (const SavedObjects::Model& model : objects.models)
    std::ranges::for_each(model.module->named_parameters(), [](const auto& named) { require_whole(named); });
  for (const optim::Optimizer* const optimizer : objects.optimizers) {
    for (const nn::ParameterGroup& group : optimizer->groups())
      std::ranges::for_each(group.parameters, [](const auto& named) { require_whole(named); });
  }
}

checkpoint::Contents contents_of(const SavedObjects& objects) {
  checkpoint::Contents contents;
  for (std::size_t i = 0; i < objects.models.size(); ++i) {
    const std::string prefix = prefix_of("model", i);
    const nn::Module& module = *objects.models[i].module;
    for (const auto& named : module.named_parameters())
      contents.model.push_back({prefix + named.name, named.parameter.value()});
    for (const auto& named : module.named_buffers()) contents.model.push_back({prefix + named.name, named.value});
  }
  for (std::size_t i = 0; i < objects.optimizers.size(); ++i) {
    for (const optim::NamedTensor& named : objects.optimizers[i]->state())
      contents.optimizer.push_back({prefix_of("optimizer", i) + named.name, named.tensor});
  }
  return contents;
}

// Copies to host memory, from which files are written.
checkpoint::Contents on_host(checkpoint::Contents contents) {
  for (auto* const tensors : {&contents.model, &contents.optimizer})
    for (checkpoint::NamedTensor& named : *tensors) named.tensor = named.tensor.to(Device{});
  return contents;
}

json states_of(const std::vector<run::KeptState>& objects) {
  json states = json::object();
  for (const run::KeptState& object : objects) states[object.name] = object.save();
  return states;
}

json describe(const SavedObjects& objects, std::int64_t number, int world_size) {
  json state{{"number", number}, {"world_size", world_size}, {"objects", states_of(objects.of_job)}};
  for (const char* const kind : {"bucket_orders", "optimizers", "schedulers", "samplers"}) state[kind] = json::array();
  for (const SavedObjects::Model& model : objects.models) {
    const auto wrapper = model.wrapper.lock();
    state["bucket_orders"].push_back(wrapper ? wrapper->bucket_order() : std::vector<std::string>());
  }
  for (const optim::Optimizer* const optimizer : objects.optimizers)
    state["optimizers"].push_back(run::to_json(optimizer->step_counts()));
  for (const auto& updates : objects.schedules) state["schedulers"].push_back(*updates);
  for (const data::Sampler* const sampler : objects.samplers)
    state["samplers"].push_back(run::to_json(sampler->state()));
  return state;
}

void load_all(const std::vector<run::KeptState>& objects, const json& states) {
  for (const run::KeptState& object : objects) object.load(states.at(object.name));
}

// Before anything is changed: set_step_counts() would refuse the names when the weights are loaded already.
void require_names(const optim::StepCounts& counts, const optim::Optimizer& optimizer,
                   const std::filesystem::path& path) {
  for (const auto& entry : counts.fewer) {
    const auto has_it = [&](const nn::ParameterGroup& group) {
      return std::ranges::find(group.parameters, entry.first, &nn::NamedParameter::name) != group.parameters.end();
    };
    if (std::ranges::none_of(optimizer.groups(), has_it))
      throw FormatError(concat(path.string(), ": updates of ", entry.first,
                               ", which is not among the prepared optimizer's parameters; prepare the same objects"));
  }
}

// The same for the tensors.
void require_loadable(const std::filesystem::path& found, const checkpoint::Contents& contents) {
  using checkpoint::SafetensorsFile;
  checkpoint::require_loadable(SafetensorsFile(found / checkpoint::kModelFile), contents.model);
  if (contents.optimizer.empty()) return;
  checkpoint::require_loadable(SafetensorsFile(found / checkpoint::kOptimizerFile), contents.optimizer);
}

// After the checkpoints of an earlier run that was not continued, which this run must not remove.
std::int64_t next_number(const std::filesystem::path& folder) {
  const auto present = checkpoint::CheckpointFolder(folder).list();
  if (present.empty()) return 0;
  const std::string name = present.back().filename().string();  // list() gives names of this form only
  return std::stoll(name.substr(std::string_view("step_").size())) + 1;
}

// Rank 0's result, or its error of whatever type: the other ranks wait for one of them.
json write(const SavedObjects& objects, const std::vector<json>& of_ranks, const std::filesystem::path& folder,
           std::optional<std::int64_t> given_number, int total_limit) {
  try {
    const checkpoint::WriterLock lock(folder);
    const std::int64_t number = given_number ? *given_number : next_number(folder);
    json state = describe(objects, number, static_cast<int>(of_ranks.size()));
    state["ranks"] = of_ranks;
    const int kept = total_limit > 0 ? total_limit : std::numeric_limits<int>::max();
    const auto saved = checkpoint::CheckpointFolder(folder, {.keep_last = kept, .on_save_step = {}})
                           .save(number, on_host(contents_of(objects)), state);
    return {{"checkpoint", saved.filename().string()}, {"number", number}};  // JSON cannot hold every path
  } catch (const std::exception& error) {
    return {{"error", printable(error.what())}};
  }
}

}  // namespace

SavedCheckpoint save_objects(const SavedObjects& objects, const PartialState& ranks,
                             const std::filesystem::path& folder, std::optional<std::int64_t> number, int total_limit) {
  require_whole(objects);
  for (const SavedObjects::Model& model : objects.models)
    if (const auto wrapper = model.wrapper.lock()) wrapper->require_sound_gradients();
  comm::ProcessGroup& group = ranks.process_group();
  const std::vector<json> of_ranks = comm::all_gather_object(group, states_of(objects.of_rank));
  json outcome;
  if (ranks.is_main_process()) outcome = write(objects, of_ranks, folder, number, total_limit);
  outcome = comm::broadcast_object(group, outcome, 0);
  if (outcome.contains("error")) {
    const std::string message = concat("rank 0: ", outcome.at("error").get<std::string>());
    group.prepare_common_error(message, 0);
    throw IoError(message);
  }
  return {.checkpoint = folder / outcome.at("checkpoint").get<std::string>(), .number = outcome.at("number")};
}

LoadedCheckpoint load_objects(const SavedObjects& objects, const PartialState& ranks,
                              const std::filesystem::path& path) {
  require_whole(objects);
  const std::filesystem::path found = run::find_checkpoint(path, &ranks.process_group());
  const StateReader state(found, objects);
  const bool has_rank_states = state.world_size() == ranks.num_processes();
  const json own = has_rank_states ? state.of_rank(ranks.process_index(), objects.of_rank) : json::object();
  std::vector<optim::StepCounts> counts;
  for (std::size_t i = 0; i < objects.optimizers.size(); ++i) {
    counts.push_back(run::step_counts_from(state.at("optimizers", i), state.path()));
    require_names(counts.back(), *objects.optimizers[i], state.path());
  }
  std::vector<data::SamplerState> positions;
  for (std::size_t i = 0; i < objects.samplers.size(); ++i) {
    positions.push_back(run::sampler_state_from(state.at("samplers", i), state.path()));
    objects.samplers[i]->require_loadable(positions.back());
  }
  std::vector<std::vector<std::string>> orders;  // of buckets
  for (std::size_t i = 0; i < objects.models.size(); ++i) {
    orders.push_back(state.at("bucket_orders", i).get<std::vector<std::string>>());
    if (const auto wrapper = objects.models[i].wrapper.lock()) wrapper->require_bucket_order(orders.back());
  }

  const checkpoint::Contents contents = contents_of(objects);
  require_loadable(found, contents);

  // First the objects that may still refuse their state. After them, only the disk can fail.
  load_all(objects.of_job, state.objects());
  if (has_rank_states) load_all(objects.of_rank, own);
  (void)checkpoint::load(found, contents);
  for (std::size_t i = 0; i < counts.size(); ++i) objects.optimizers[i]->set_step_counts(counts[i]);
  for (std::size_t i = 0; i < positions.size(); ++i) objects.samplers[i]->load_state(positions[i]);
  for (std::size_t i = 0; i < objects.schedules.size(); ++i)
    *objects.schedules[i] = state.at("schedulers", i).get<std::int64_t>();
  for (std::size_t i = 0; i < orders.size(); ++i)
    if (const auto wrapper = objects.models[i].wrapper.lock()) wrapper->set_bucket_order(orders[i]);
  return {.checkpoint = found, .number = state.number(), .has_rank_states = has_rank_states};
}

}  // namespace lockstep::accelerate
