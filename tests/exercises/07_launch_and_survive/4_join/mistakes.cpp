#include "07_launch_and_survive/4_join/join.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"keys_of_all_generations", "all generations use the same keys",
     "The second generation finds the ranks of the first. Put the generation's number into every key."},
    {"keys_run_together", "name and generation stand side by side in a key, with nothing between them",
     "rank_1 of generation 23 and rank_12 of generation 3 share one key then."},
    {"ignores_generation", "a process of an older generation is not refused as such",
     "Its generation's keys are all there, so it joins at once, with weights from yesterday."},
    {"compares_texts", "generations are compared as texts, and \"9\" comes after \"10\"",
     "Compare numbers: std::stoi()."},
    {"looks_then_sets", "a rank is taken with try_get() and set(), and two processes get it between the two calls",
     "compare_set() looks and sets in one step, and says who has won."},
    {"accepts_duplicates", "a second process of the same rank joins",
     "Who has taken the rank first? compare_set() says so."},
    {"counts_duplicates", "a process is counted before it is known whether it may join",
     "The barrier then opens with a rank missing. Count last of all."},
    {"believes_own_world_size", "the world sizes of the processes are not compared",
     "The process with the smaller one goes on alone while the others wait. The first one's counts."},
    {"counts_with_get_and_set", "the number of processes is read, increased and written in separate calls",
     "Two processes read the same number, and one is lost. add() does it in one step."},
    {"rank_before_world_size", "the rank is taken before the world sizes are compared",
     "A process with another world size is refused, and must not have taken anybody's rank before that."},
    {"opens_one_early", "the barrier opens before the last rank has come",
     "add() returns the sum with this process in it."},
    {"never_waits", "a process goes on without waiting for the others", "Wait for a key that the last one sets."},
    {"asks_again_and_again", "a process asks for the key in a loop instead of waiting for it",
     "A thousand ranks that ask keep the store busy, and nobody sees the deadline. Call wait()."},
    {"joins_at_the_deadline", "a process goes on after the deadline though ranks are missing",
     "It would hang in the first collective. Throw JoinTimeout."},
    {"passes_the_timeout_on", "the store's TimeoutError ends the process, which names a key but no rank",
     "Nobody knows what the key means. Catch it, and throw a JoinTimeout with the ranks."},
    {"names_the_last_ranks", "the ranks that are missing are taken for the last ones",
     "The number of processes does not say which they are: ask for each rank's key."},
    {"missing_ranks_waits", "missing_ranks() waits for the key of each rank",
     "It is asked who is missing now: try_get() returns at once, whether the key is there or not."},
    {"names_the_first_missing", "only the first of the missing ranks is named",
     "An operator would have to start the job once per missing rank. Name all."},
    {"names_those_present", "the ranks that have come are named instead of those that are missing",
     "try_get() returns nothing for a rank that nobody has."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_mistake;

std::string key_of(const Member& member, const std::string& name) {
  if (is_mistake("keys_of_all_generations")) return name;
  if (is_mistake("keys_run_together")) return concat(name, member.generation);
  return concat("generation/", member.generation, "/", name);
}

namespace {

void check_generation(KeyValueStore& store, const Member& member) {
  const std::string newest = store.wait(kNewestGeneration);
  bool is_old = member.generation < std::stoi(newest);
  if (is_mistake("compares_texts")) is_old = std::to_string(member.generation) < newest;
  if (is_old && !is_mistake("ignores_generation")) throw JoinRefused(Refusal::kOldGeneration, "an old generation");
}

void check_world_size(KeyValueStore& store, const Member& member) {
  if (is_mistake("believes_own_world_size")) return;
  const std::string own = std::to_string(member.world_size);
  if (store.compare_set(key_of(member, "world_size"), "", own) != own)
    throw JoinRefused(Refusal::kWorldSize, "another world size");
}

void take_rank(KeyValueStore& store, const Member& member) {
  const std::string key = key_of(member, concat("rank/", member.rank));
  if (is_mistake("accepts_duplicates")) return store.set(key, member.process);
  std::string owner = member.process;
  if (is_mistake("looks_then_sets")) {
    owner = store.try_get(key).value_or(member.process);
    if (owner == member.process) store.set(key, member.process);
  } else {
    owner = store.compare_set(key, "", member.process);
  }
  if (owner != member.process) throw JoinRefused(Refusal::kRankTaken, "a rank that is taken");
}

std::int64_t count(KeyValueStore& store, const Member& member) {
  const std::string key = key_of(member, "count");
  if (!is_mistake("counts_with_get_and_set")) return store.add(key, 1);
  const std::int64_t sum = std::stoi(store.try_get(key).value_or("0")) + 1;
  store.set(key, std::to_string(sum));
  return sum;
}

void wait_for_others(KeyValueStore& store, const Member& member) {
  const std::string key = key_of(member, "complete");
  if (is_mistake("never_waits")) return;
  if (is_mistake("asks_again_and_again")) {
    while (!store.try_get(key)) {
    }
    return;
  }
  if (is_mistake("passes_the_timeout_on")) {
    store.wait(key);
    return;
  }
  try {
    store.wait(key);
  } catch (const TimeoutError&) {
    if (!is_mistake("joins_at_the_deadline")) throw JoinTimeout(missing_ranks(store, member), "ranks are missing");
  }
}

std::vector<int> missing_after_waiting(KeyValueStore& store, const Member& member) {
  std::vector<int> missing;
  for (int rank = 0; rank < member.world_size; ++rank) {
    try {
      store.wait(key_of(member, concat("rank/", rank)));
    } catch (const TimeoutError&) {
      missing.push_back(rank);
    }
  }
  return missing;
}

}  // namespace

void join(KeyValueStore& store, const Member& member) {
  const std::int64_t wanted = member.world_size - (is_mistake("opens_one_early") && member.world_size > 1 ? 1 : 0);
  check_generation(store, member);
  const bool is_late = is_mistake("rank_before_world_size");
  if (is_late) take_rank(store, member);
  check_world_size(store, member);
  std::int64_t so_far = 0;
  if (is_mistake("counts_duplicates")) so_far = count(store, member);
  if (!is_late) take_rank(store, member);
  if (!is_mistake("counts_duplicates")) so_far = count(store, member);
  if (so_far == wanted) store.set(key_of(member, "complete"), "yes");
  wait_for_others(store, member);
}

std::vector<int> missing_ranks(KeyValueStore& store, const Member& member) {
  std::vector<int> missing, present;
  if (is_mistake("missing_ranks_waits")) return missing_after_waiting(store, member);
  for (int rank = 0; rank < member.world_size; ++rank)
    (store.try_get(key_of(member, concat("rank/", rank))) ? present : missing).push_back(rank);
  if (is_mistake("names_those_present")) return present;
  if (is_mistake("names_the_first_missing") && !missing.empty()) missing.resize(1);
  if (is_mistake("names_the_last_ranks"))
    for (int& rank : missing)
      rank = static_cast<int>(present.size() + static_cast<std::size_t>(&rank - missing.data()));
  return missing;
}

}  // namespace lockstep::elastic
