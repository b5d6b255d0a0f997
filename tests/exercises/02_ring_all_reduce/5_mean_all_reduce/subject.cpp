#include "exercise/subject.hpp"

#include "02_ring_all_reduce/5_mean_all_reduce/mean_all_reduce.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const int rank = question.rank(), world_size = question.world_size();
  std::vector<float> values = question.numbers<float>("values");
  Link none(UniqueFd(), -1, nullptr);
  Link& next = world_size == 1 ? none : question.link(ring::next_of(rank, world_size));
  Link& previous = world_size == 1 ? none : question.link(ring::previous_of(rank, world_size));
  ring::all_reduce_mean(values, {rank, world_size, next, previous});
  Answer result;
  result.set_numbers<float>("values", values);
  return result;
}

}  // namespace lockstep::exercise
