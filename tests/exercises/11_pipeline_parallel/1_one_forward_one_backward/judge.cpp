#include <algorithm>

#include "../examined_schedule.hpp"
#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_11_1 {

void check_schedule(Check& check, int ranks, int micro_batches) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"ranks", ranks}, {"micro_batches", micro_batches}};
  }});
  const ExaminedSchedule examined(check, outcome,
                                  concat(ranks, ranks == 1 ? " rank, " : " ranks, ", micro_batches,
                                         micro_batches == 1 ? " micro-batch" : " micro-batches"),
                                  ranks, micro_batches);
  examined.check_lists();
  for (int rank = 0; rank < ranks; ++rank)
    examined.check_held(rank, std::min(micro_batches, ranks - rank), "a rank needs one more than the rank after it");
  examined.check_duration(3 * (micro_batches + ranks - 1),
                          "where is a rank idle although it could hold one more micro-batch?");
}

}  // namespace checks_11_1

void judge_11_1(Examination& exam) {
  using namespace checks_11_1;
  exam.check("3 ranks, 4 micro-batches", [](Check& check) { check_schedule(check, 3, 4); });
  exam.check("2 ranks, 2 micro-batches", [](Check& check) { check_schedule(check, 2, 2); });
  exam.check("1 rank", [](Check& check) { check_schedule(check, 1, 5); });
  exam.check("4 ranks, 8 micro-batches", [](Check& check) { check_schedule(check, 4, 8); });
  exam.check("6 ranks, 6 micro-batches", [](Check& check) { check_schedule(check, 6, 6); });
  exam.check("4 ranks, 2 micro-batches", [](Check& check) { check_schedule(check, 4, 2); });
  exam.check("5 ranks, 1 micro-batch", [](Check& check) { check_schedule(check, 5, 1); });
  exam.full_check("every size up to 6 ranks and 7 micro-batches", [](Check& check) {
    for (int ranks = 1; ranks <= 6; ++ranks)
      for (int micro_batches = 1; micro_batches <= 7; ++micro_batches) check_schedule(check, ranks, micro_batches);
  });
}

}  // namespace lockstep::exercise
