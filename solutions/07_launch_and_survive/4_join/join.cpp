#include "07_launch_and_survive/4_join/join.hpp"

namespace lockstep::elastic {

std::string key_of(const Member& member, const std::string& name) {
  // SOLUTION(07.4) key_of: make a key that no other generation uses
  return concat("generation/", member.generation, "/", name);
  // END SOLUTION
}

void join(KeyValueStore& store, const Member& member) {
  // SOLUTION(07.4) join: refuse who does not belong here, count who does, and wait for the last one
  if (member.generation < std::stoi(store.wait(kNewestGeneration)))
    throw JoinRefused(Refusal::kOldGeneration,
                      concat(member.process, " belongs to generation ", member.generation, ", which has ended"));
  const std::string own_size = std::to_string(member.world_size);
  const std::string world_size = store.compare_set(key_of(member, "world_size"), "", own_size);
  if (world_size != own_size)
    throw JoinRefused(Refusal::kWorldSize,
                      concat("the world size is ", world_size, ", but ", own_size, " in ", member.process));
  const std::string owner = store.compare_set(key_of(member, concat("rank/", member.rank)), "", member.process);
  if (owner != member.process)
    throw JoinRefused(Refusal::kRankTaken, concat(owner, " and ", member.process, " both have rank ", member.rank));
  if (store.add(key_of(member, "count"), 1) == member.world_size) store.set(key_of(member, "complete"), "yes");
  try {
    store.wait(key_of(member, "complete"));
  } catch (const TimeoutError&) {
    const std::vector<int> missing = missing_ranks(store, member);
    throw JoinTimeout(missing, concat(missing.size(), " of ", own_size, " ranks have not come"));
  }
  // END SOLUTION
}

std::vector<int> missing_ranks(KeyValueStore& store, const Member& member) {
  // SOLUTION(07.4) missing_ranks: ask for each rank
  std::vector<int> missing;
  for (int rank = 0; rank < member.world_size; ++rank)
    if (!store.try_get(key_of(member, concat("rank/", rank)))) missing.push_back(rank);
  return missing;
  // END SOLUTION
}

}  // namespace lockstep::elastic
