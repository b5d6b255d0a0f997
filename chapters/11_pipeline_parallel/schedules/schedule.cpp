#include "11_pipeline_parallel/schedules/schedule.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

using Actions = std::vector<Action>;

// All micro-batches through one stage.
Actions passes_of(Pass pass, int stage, int micro_batches) {
  Actions actions;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) actions.push_back({pass, stage, micro_batch});
  return actions;
}

// The first `lead` forward passes, then one forward and one backward pass in turn, then the backward passes that are
// left. That is naive with a lead of 0, and GPipe with a lead of all.
Actions in_turn(const Actions& forwards, const Actions& backwards, std::size_t lead) {
  Actions actions(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(lead));
  std::size_t next_backward = 0;
  for (std::size_t next = lead; next < forwards.size(); ++next) {
    actions.push_back(forwards[next]);
    actions.push_back(backwards[next_backward++]);
  }
  actions.insert(actions.end(), backwards.begin() + static_cast<std::ptrdiff_t>(next_backward), backwards.end());
  return actions;
}

void require_counts(int ranks, int micro_batches) {
  require(ranks >= 1 && micro_batches >= 1, "a schedule needs ranks and micro-batches, not ", ranks, " and ",
          micro_batches);
}

// One stage on each rank; each rank does the same.
Schedule with_lead(int ranks, int micro_batches, int lead) {
  require_counts(ranks, micro_batches);
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) {
    schedule.push_back(in_turn(passes_of(Pass::kForward, rank, micro_batches),
                               passes_of(Pass::kBackward, rank, micro_batches), static_cast<std::size_t>(lead)));
  }
  return schedule;
}

// The passes of one kind on `rank`: groups of `ranks` micro-batches, each group through all of the rank's stages.
Actions interleaved_passes(Pass pass, int rank, int ranks, int stages_per_rank, int micro_batches) {
  Actions actions;
  for (int first = 0; first < micro_batches; first += ranks) {
    for (int turn = 0; turn < stages_per_rank; ++turn) {
      const int level = pass == Pass::kForward ? turn : stages_per_rank - 1 - turn;
      for (int i = 0; i < ranks; ++i) actions.push_back({pass, level * ranks + rank, first + i});
    }
  }
  return actions;
}

}  // namespace

std::string text_of(const Action& action) {
  return concat(action.pass == Pass::kForward ? "F" : "B", action.micro_batch, " of stage ", action.stage);
}

int stages_of(const Schedule& schedule) noexcept {
  int stages = 0;
  for (const Actions& actions : schedule) {
    for (const Action& action : actions) stages = std::max(stages, action.stage + 1);
  }
  return stages;
}

std::vector<Action> needs_of(const Action& action, int stages) {
  const auto [pass, stage, micro_batch] = action;
  if (pass == Pass::kForward) return stage == 0 ? Actions{} : Actions{{pass, stage - 1, micro_batch}};
  Actions needs{{Pass::kForward, stage, micro_batch}};
  if (stage + 1 < stages) needs.push_back({pass, stage + 1, micro_batch});
  return needs;
}

Schedule naive(int ranks, int micro_batches) { return with_lead(ranks, micro_batches, 0); }

Schedule gpipe(int ranks, int micro_batches) { return with_lead(ranks, micro_batches, micro_batches); }

// A micro-batch comes back to rank r after it has passed the ranks after it twice, and all ranks for each other stage.
Schedule interleaved(int ranks, int stages_per_rank, int micro_batches) {
  require_counts(ranks, micro_batches);
  require(stages_per_rank >= 1 && micro_batches % ranks == 0, stages_per_rank, " stages on each of ", ranks,
          " ranks cannot take ", micro_batches, " micro-batches in turn; use a multiple of ", ranks);
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) {
    const Actions forwards = interleaved_passes(Pass::kForward, rank, ranks, stages_per_rank, micro_batches);
    const auto lead = static_cast<std::size_t>(2 * (ranks - 1 - rank) + (stages_per_rank - 1) * ranks);
    schedule.push_back(in_turn(forwards,
                               interleaved_passes(Pass::kBackward, rank, ranks, stages_per_rank, micro_batches),
                               std::min(lead, forwards.size())));
  }
  return schedule;
}

Schedule forward_only(int ranks, int micro_batches) {
  require_counts(ranks, micro_batches);
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) schedule.push_back(passes_of(Pass::kForward, rank, micro_batches));
  return schedule;
}

const std::map<std::string, ScheduleKind>& schedule_kinds() {
  static const std::map<std::string, ScheduleKind> kinds{
      {"naive", ScheduleKind::kNaive}, {"gpipe", ScheduleKind::kGpipe}, {"1f1b", ScheduleKind::kOneForwardOneBackward}};
  return kinds;
}

std::string_view name_of(ScheduleKind kind) noexcept {
  switch (kind) {
    case ScheduleKind::kNaive:
      return "naive";
    case ScheduleKind::kGpipe:
      return "gpipe";
    case ScheduleKind::kOneForwardOneBackward:
      return "1f1b";
  }
  return "";
}

ScheduleKind parse_schedule_kind(std::string_view name) {
  const auto found = schedule_kinds().find(std::string(name));
  if (found != schedule_kinds().end()) return found->second;
  throw UsageError(concat("there is no schedule \"", name, "\"; use naive, gpipe or 1f1b"));
}

Schedule make_schedule(ScheduleKind kind, int ranks, int micro_batches) {
  switch (kind) {
    case ScheduleKind::kNaive:
      return naive(ranks, micro_batches);
    case ScheduleKind::kGpipe:
      return gpipe(ranks, micro_batches);
    case ScheduleKind::kOneForwardOneBackward:
      return one_forward_one_backward(ranks, micro_batches);
  }
  return {};
}

}  // namespace lockstep::pipeline
