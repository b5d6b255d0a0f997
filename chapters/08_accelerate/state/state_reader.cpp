#include "08_accelerate/state/state_reader.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/manifest.hpp"

namespace lockstep::accelerate {

using nlohmann::json;

StateReader::StateReader(const std::filesystem::path& checkpoint, const SavedObjects& objects)
    : path_(checkpoint / checkpoint::kStateFile), state_(checkpoint::load_state(checkpoint)) {
  for (const char* const name : {"number", "world_size"})
    if (!has(name) || !state_.at(name).is_number_unsigned()) fail(concat("no number '", name, "'"));
  require_list("bucket_orders", "models", objects.models.size());
  require_list("optimizers", "optimizers", objects.optimizers.size());
  require_list("schedulers", "schedulers", objects.schedules.size());
  require_list("samplers", "loaders", objects.samplers.size());
  for (const json& updates : state_.at("schedulers"))
    if (!updates.is_number_unsigned()) fail("a scheduler's position is not a whole number of at least 0");
  for (const json& order : state_.at("bucket_orders"))
    if (!order.is_array() || !std::ranges::all_of(order, [](const json& name) { return name.is_string(); }))
      fail("a bucket order is not a list of names");
  require_states(state_, "objects", objects.of_job);
  if (!has("ranks") || !state_.at("ranks").is_array() || std::ssize(state_.at("ranks")) != world_size())
    fail("no list 'ranks' with a state of each rank");
}

const json& StateReader::of_rank(int rank, const std::vector<run::KeptState>& objects) const {
  const json& all = state_.at("ranks").at(static_cast<std::size_t>(rank));
  require_names(all, objects);
  return all;
}

void StateReader::fail(const std::string& what) const { throw FormatError(concat(path_.string(), ": ", what)); }

void StateReader::require_list(const char* name, const char* what, std::size_t count) const {
  if (!has(name) || !state_.at(name).is_array()) fail(concat("no list '", name, "'"));
  if (state_.at(name).size() != count)
    fail(concat("it was saved with ", state_.at(name).size(), " prepared ", what, ", and there are ", count,
                "; prepare the same objects in the same order before load_state()"));
}

void StateReader::require_states(const json& state, const char* name,
                                 const std::vector<run::KeptState>& objects) const {
  if (!has(name)) fail(concat("no object '", name, "'"));
  require_names(state.at(name), objects);
}

void StateReader::require_names(const json& states, const std::vector<run::KeptState>& objects) const {
  for (const run::KeptState& object : objects) {
    if (!states.is_object() || !states.contains(object.name))
      fail(concat("no state of '", object.name, "', which is registered for checkpointing"));
  }
}

}  // namespace lockstep::accelerate
