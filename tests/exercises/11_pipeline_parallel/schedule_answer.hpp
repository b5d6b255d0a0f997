#pragma once
/// @file
/// For subjects whose learners return a schedule: how it is sent to the judge.
#include <cstdint>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {

/// Adds a schedule to an answer, for ExaminedSchedule in examined_schedule.hpp.
inline void answer_with(Answer& answer, const pipeline::Schedule& schedule) {
  std::vector<std::int32_t> rows;  // four numbers an action
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    for (const pipeline::Action& action : schedule[rank])
      rows.insert(rows.end(),
                  {static_cast<int>(rank), static_cast<int>(action.pass), action.stage, action.micro_batch});
  answer.set("ranks", static_cast<std::int64_t>(schedule.size()));
  answer.set_numbers<std::int32_t>("actions", rows);
}

}  // namespace lockstep::exercise
