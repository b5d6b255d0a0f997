#include "exercise/alternatives.hpp"

#include "07_launch_and_survive/4_join/join.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"last_one_is_found_by_asking", "no counter: the rank that finds all others present opens the barrier"},
    {"own_names", "keys of another form, and the number of ranks counted in a single key"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_alternative;

std::string key_of(const Member& member, const std::string& name) {
  return concat(name, is_alternative("own_names") ? "@" : " of generation ", member.generation);
}

void join(KeyValueStore& store, const Member& member) {
  const std::string newest = store.wait(kNewestGeneration);
  if (std::stoll(newest) > member.generation) throw JoinRefused(Refusal::kOldGeneration, concat("now it is ", newest));
  const std::string size = concat(member.world_size, " ranks");
  if (const std::string agreed = store.compare_set(key_of(member, "size"), "", size); agreed != size)
    throw JoinRefused(Refusal::kWorldSize, agreed);
  const std::string owner = store.compare_set(key_of(member, concat("r", member.rank)), "", member.process);
  if (owner != member.process) throw JoinRefused(Refusal::kRankTaken, owner);
  const bool is_complete = is_alternative("own_names") ? store.add(key_of(member, "so far"), 1) >= member.world_size
                                                       : missing_ranks(store, member).empty();
  if (is_complete) store.set(key_of(member, "open"), "1");
  try {
    (void)store.wait(key_of(member, "open"));
  } catch (const TimeoutError& error) {
    throw JoinTimeout(missing_ranks(store, member), error.what());
  }
}

std::vector<int> missing_ranks(KeyValueStore& store, const Member& member) {
  std::vector<int> missing;
  for (int rank = member.world_size - 1; rank >= 0; --rank)
    if (!store.try_get(key_of(member, concat("r", rank))).has_value()) missing.insert(missing.begin(), rank);
  return missing;
}

}  // namespace lockstep::elastic
