#include "exercise/subject.hpp"

#include <cfenv>

#include "02_ring_all_reduce/5_mean_all_reduce/mean_all_reduce.hpp"

namespace lockstep::exercise {
namespace {

// In the place of rank 1 of 2: the ring by the book, and what rank 0 sends in the second half.
Answer stand_in(Link& peer, std::vector<float> values) {
  const std::size_t half = values.size() / 2;
  const std::span<float> finished = std::span(values).first(half);
  std::vector<float> arrived(half), passed_on(half);
  exchange(peer, std::span(values).subspan(half), peer, arrived);
  for (std::size_t i = 0; i < half; ++i) finished[i] = (finished[i] + arrived[i]) / 2;
  exchange(peer, finished, peer, passed_on);
  Answer result;
  result.set_numbers<float>("passed_on", passed_on);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  const int rank = question.rank(), world_size = question.world_size();
  std::vector<float> values = question.numbers<float>("values");
  if (question.get<bool>("is_stand_in")) return stand_in(question.link(0), std::move(values));
  Link none(UniqueFd(), -1, nullptr);
  Link& next = world_size == 1 ? none : question.link(ring::next_of(rank, world_size));
  Link& previous = world_size == 1 ? none : question.link(ring::previous_of(rank, world_size));
  std::feclearexcept(FE_UNDERFLOW);
  ring::all_reduce_mean(values, {rank, world_size, next, previous});
  Answer result;
  result.set<bool>("has_underflown", std::fetestexcept(FE_UNDERFLOW) != 0);
  result.set_numbers<float>("values", values);
  return result;
}

}  // namespace lockstep::exercise
