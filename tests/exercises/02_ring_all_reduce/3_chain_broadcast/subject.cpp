#include "exercise/subject.hpp"

#include <array>

#include "02_ring_all_reduce/3_chain_broadcast/chain_broadcast.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

// In the place of rank 0: sends the first segments of its values, not by the learner's code, and leaves.
Answer send_some_segments(Question& question, std::span<const float> values) {
  Link& next = question.link(1);
  next.send(values.first(static_cast<std::size_t>(question.get<int>("sent"))));
  next.close();
  return {};
}

// In the place of the last rank: counts what arrives until the rank before it has left.
Answer count_what_arrives(Question& question) {
  Link& previous = question.link(question.rank() - 1);
  std::vector<float> arrived;
  try {
    for (float value = 0;; arrived.push_back(value)) previous.receive(std::span(&value, 1));
  } catch (const IoError&) {  // it has
  }
  Answer result;
  result.set_numbers<float>("values", arrived);
  return result;
}

void wait_for_end(Link& next, Link& previous) {
  next.close();
  std::array<std::byte, 4096> ignored{};
  while (previous.receive_some(ignored) > 0) continue;
}

Answer broadcast(Question& question, std::vector<float> values) {
  const int rank = question.rank(), world_size = question.world_size();
  Link none(UniqueFd(), -1, nullptr);
  Link& next = world_size == 1 ? none : question.link(ring::next_of(rank, world_size));
  Link& previous = world_size == 1 ? none : question.link(ring::previous_of(rank, world_size));
  const int root = question.get<int>("root");
  Answer result;
  try {
    ring::broadcast(values, root, question.get<std::int64_t>("segment_count"), {rank, world_size, next, previous});
    // Whether the last rank can send too much must not depend on who is faster: the root stays until it has left.
    if (rank == root && world_size > 2) wait_for_end(next, previous);
  } catch (const IoError&) {
    if (!question.get<bool>("is_cut_off")) throw;
  }
  result.set_numbers<float>("values", values);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  const auto what = question.get<std::string>("what");
  if (what == "count steps") {
    Answer result;
    result.set("steps", ring::chain_steps(question.get<std::int64_t>("count"),
                                          question.get<std::int64_t>("segment_count"), question.get<int>("ranks")));
    return result;
  }
  if (what == "count what arrives") return count_what_arrives(question);
  std::vector<float> values = question.numbers<float>("values");
  if (what == "send some segments") return send_some_segments(question, values);
  return broadcast(question, std::move(values));
}

}  // namespace lockstep::exercise
