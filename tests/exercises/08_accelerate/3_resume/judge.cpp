#include <algorithm>
#include <numeric>

#include "../counted.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_08_3 {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kEpochs = 16;  // that a job can have

// One start of the program: it continues where the one before has stopped.
struct Run {
  int world_size = 1;
  std::int64_t total_batch = 1, steps = 1;
  std::int64_t skip = -1;  // of skip_first_batches(); -1: not called
};

// Position of the one process that does not stop.
struct Position {
  std::int64_t epoch = 0, consumed = 0;
};

class Job {
 public:
  Job(Check& check, std::int64_t samples, Position start) : check_(check), samples_(samples), at_(start) {
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      Numbers order(static_cast<std::size_t>(samples));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      PhiloxSequence random(check.seed() + 83, static_cast<std::uint64_t>(epoch));
      for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.next_below(left)]);
      orders_.insert(orders_.end(), order.begin(), order.end());
    }
  }

  void run(const Run& run) {
    run_ = run;
    loaded_ = at_;
    const Outcome& outcome =
        check_.run({.world_size = run.world_size, .question = [&](int) {
                      return nlohmann::json{{"orders", to_message(std::span<const std::int64_t>(orders_))},
                                            {"samples", samples_},
                                            {"total_batch", run.total_batch},
                                            {"steps", run.steps},
                                            {"skip", run.skip},
                                            {"epoch", at_.epoch},
                                            {"consumed", at_.consumed}};
                    }});
    if (run.skip >= 0) at_.consumed = run.skip * run.total_batch;
    const Position start = at_;
    for (int rank = 0; rank < run.world_size; ++rank) {
      at_ = start;
      check_rank(outcome, rank);
      check_dealt(outcome, rank, start);
    }
    ++runs_;
  }

 private:
  [[nodiscard]] std::int64_t sample_at(std::int64_t epoch, std::int64_t position) const {
    return orders_[static_cast<std::size_t>(epoch * samples_ + position)];
  }

  [[nodiscard]] std::string place(std::int64_t step, int rank) const {
    const bool is_continued = loaded_.epoch != 0 || loaded_.consumed != 0;
    return concat(
        "run ", runs_, " (",
        is_continued ? concat("load_state() of epoch ", loaded_.epoch, ", consumed ", loaded_.consumed, "; ") : "",
        run_.skip < 0 ? "" : concat("skip_first_batches(", run_.skip, "); "), counted(run_.world_size, "rank"),
        ", batches of ", run_.total_batch, "), rank ", rank, ", batch ", step);
  }

  // Whether these samples are those of a rank from a position of an epoch on.
  [[nodiscard]] bool are_dealt_from(std::span<const std::int64_t> used, std::int64_t epoch, std::int64_t begin) const {
    const auto count = std::min<std::int64_t>(std::ssize(used), 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = begin + i * run_.world_size;
      if (begin < 0 || position >= samples_) return false;
      if (used[static_cast<std::size_t>(i)] != sample_at(epoch, position)) return false;
    }
    return count >= 2;  // a single sample is found by chance
  }

  // From its place in the order of the epoch. @param used  The wrong sample, and those after it.
  [[nodiscard]] std::string explain(std::span<const std::int64_t> used, std::int64_t wanted) const {
    const std::int64_t sample = used.front();
    if (sample < 0 || sample >= samples_) return "there is no such sample";
    for (const std::int64_t epoch : {at_.epoch - 1, at_.epoch + 1})
      if (epoch >= 0 && epoch < kEpochs && are_dealt_from(used, epoch, wanted))
        return concat("it stands at this position of epoch ", epoch, "'s order, and epoch ", at_.epoch,
                      "'s belongs here");
    const std::int64_t rank = wanted - at_.consumed;  // if this is the first sample of a batch
    if (run_.skip < 0 && at_.consumed > 0 && are_dealt_from(used, at_.epoch, rank))
      return concat("it is of the epoch's first batch; ", at_.consumed, " samples have been used");
    if (run_.skip >= 0) {
      const std::int64_t size = run_.total_batch / run_.world_size, in_epoch = run_.skip * run_.total_batch;
      if (are_dealt_from(used, at_.epoch, rank) && at_.consumed == in_epoch)
        return "it is the epoch's first batch: skip_first_batches() has skipped nothing";
      if (are_dealt_from(used, at_.epoch, rank + run_.skip) && at_.consumed == in_epoch)
        return concat(run_.skip, " samples have been skipped, not ", run_.skip, " batches");
      if (are_dealt_from(used, at_.epoch, rank + run_.skip * size) && at_.consumed == in_epoch)
        return "only one rank's part of each batch has been skipped: a batch has total_batch_size samples";
      if (are_dealt_from(used, at_.epoch, wanted - run_.total_batch)) return "one batch too few has been skipped";
    }
    std::int64_t position = 0;
    while (sample_at(at_.epoch, position) != sample) ++position;
    const std::string found = concat("it stands at position ", position, " of epoch ", at_.epoch,
                                     "'s order, and position ", wanted, " belongs here");
    if (position < at_.consumed) return concat(found, "; a batch before this one has used it");
    const bool is_of_batch = position < at_.consumed + run_.total_batch;
    return concat(found, is_of_batch ? "; it is another rank's part of this batch" : "; it belongs to a later batch");
  }

  void check_rank(const Outcome& outcome, int rank) {
    const Numbers used = check_.numbers<std::int64_t>(outcome, rank, "used"),
                  sizes = check_.numbers<std::int64_t>(outcome, rank, "sizes"),
                  epochs = check_.numbers<std::int64_t>(outcome, rank, "epochs"),
                  states = check_.numbers<std::int64_t>(outcome, rank, "states");
    const std::int64_t batch_size = run_.total_batch / run_.world_size;
    std::size_t next = 0;
    for (std::int64_t step = 0; step < run_.steps; ++step) {
      if (samples_ - at_.consumed < run_.total_batch) at_ = {at_.epoch + 1, 0};
      if (step >= std::ssize(sizes))
        check_.wrong(concat(place(step, rank), ": begin_iteration() returned no samples; epoch ", at_.epoch, " has ",
                            samples_ - at_.consumed, " left"));
      const std::int64_t size = sizes[static_cast<std::size_t>(step)];
      for (std::int64_t i = 0; i < std::min(size, batch_size); ++i) {
        const std::int64_t position = at_.consumed + i * run_.world_size + rank, sample = used.at(next++);
        if (const std::int64_t wanted = sample_at(at_.epoch, position); sample != wanted)
          check_.wrong(concat(place(step, rank), ", element ", i, ": expected sample ", wanted, ", got ", sample, ": ",
                              explain(std::span(used).subspan(next - 1), position)));
      }
      if (size != batch_size)
        check_.wrong(
            concat(place(step, rank), ": ", counted(size, "sample"), "; a batch has ", batch_size, " on each rank"));
      if (const std::int64_t epoch = epochs[static_cast<std::size_t>(step)]; epoch != at_.epoch)
        check_.wrong(
            concat(place(step, rank), ": state().epoch is ", epoch, "; these samples are of epoch ", at_.epoch));
      at_.consumed += run_.total_batch;
      const auto two = static_cast<std::size_t>(2 * step);
      check_state(step, rank, states.at(two), states.at(two + 1));
    }
  }

  // Each iteration has all batches that are left of its epoch. @param start  Of the run.
  void check_dealt(const Outcome& outcome, int rank, Position start) {
    const Numbers dealt = check_.numbers<std::int64_t>(outcome, rank, "dealt");
    std::size_t iteration = 0;
    for (std::int64_t step = 0; step < run_.steps; ++iteration) {
      if (samples_ - start.consumed < run_.total_batch) start = {start.epoch + 1, 0};
      const std::int64_t batches = (samples_ - start.consumed) / run_.total_batch;
      const std::int64_t wanted = batches * run_.total_batch / run_.world_size, got = dealt.at(iteration);
      if (got != wanted)
        check_.wrong(concat(place(step, rank), ": begin_iteration() returned ", counted(got, "sample"), "; the ",
                            batches, batches == 1 ? " batch" : " batches", " that are left of epoch ", start.epoch,
                            " have ", wanted, " on each rank"),
                     "it returns the samples of all batches that are left of the epoch");
      step += batches;
      start.consumed += batches * run_.total_batch;
    }
  }

  // The content of a checkpoint after this batch. At the end of an epoch the beginning of the next one means the same.
  void check_state(std::int64_t step, int rank, std::int64_t epoch, std::int64_t consumed) {
    if (epoch == at_.epoch && consumed == at_.consumed) return;
    const bool is_at_end = samples_ - at_.consumed < run_.total_batch;
    if (is_at_end && epoch == at_.epoch + 1 && consumed == 0) return;
    const std::int64_t added = consumed - (at_.consumed - run_.total_batch), size = run_.total_batch / run_.world_size;
    std::string next = "`consumed` counts the samples of the batches that have been used, and nothing else";
    if (run_.world_size > 1 && (added == size || consumed * run_.world_size == at_.consumed))
      next = "`consumed` is what all ranks together have used";
    else if (added == 1)
      next = "`consumed` counts samples, not batches";
    else if (added == 0)
      next = "advance() counts the samples of a batch";
    check_.wrong(
        concat("after batch ", step, " on ", counted(run_.world_size, "rank"), ", rank ", rank, "'s state() is epoch ",
               epoch, ", consumed ", consumed, "; expected epoch ", at_.epoch, ", consumed ", at_.consumed),
        next);
  }

  Check& check_;
  std::int64_t samples_;
  Position at_;
  Numbers orders_;  // [kEpochs, samples_]
  Run run_;
  Position loaded_;  // by the run
  int runs_ = 0;
};

void check_job(Check& check, std::int64_t samples, const std::vector<Run>& runs, Position start = {}) {
  Job job(check, samples, start);
  for (const Run& run : runs) job.run(run);
}

}  // namespace checks_08_3

void judge_08_3(Examination& exam) {
  using namespace checks_08_3;
  exam.check("one rank, without a restart",
             [](Check& check) { check_job(check, 10, {{.total_batch = 3, .steps = 7}}); });
  exam.check("one rank, stopped within an epoch", [](Check& check) {
    check_job(check, 14, {{.total_batch = 3, .steps = 2}, {.total_batch = 3, .steps = 7}});
  });
  exam.check("2 ranks, without a restart",
             [](Check& check) { check_job(check, 18, {{.world_size = 2, .total_batch = 4, .steps = 6}}); });
  exam.check("2 ranks, then 2 again", [](Check& check) {
    const Run run{.world_size = 2, .total_batch = 4, .steps = 3};
    check_job(check, 18, {run, run, run});
  });
  exam.check("2 ranks, then 4, then 1, then 3", [](Check& check) {
    check_job(check, 52,
              {{.world_size = 2, .total_batch = 12, .steps = 1},
               {.world_size = 4, .total_batch = 12, .steps = 2},
               {.world_size = 1, .total_batch = 12, .steps = 3},
               {.world_size = 3, .total_batch = 12, .steps = 3}});
  });
  exam.check("stopped at the end of an epoch", [](Check& check) {
    check_job(check, 13,
              {{.world_size = 2, .total_batch = 4, .steps = 3}, {.world_size = 3, .total_batch = 3, .steps = 5}});
  });
  exam.check("stopped when one batch is left", [](Check& check) {
    const Run run{.world_size = 2, .total_batch = 4, .steps = 2};
    check_job(check, 12, {run, {.world_size = 2, .total_batch = 4, .steps = 3}});
  });
  exam.check("another batch size, which does not divide what was used", [](Check& check) {
    check_job(check, 40,
              {{.world_size = 2, .total_batch = 6, .steps = 3}, {.world_size = 4, .total_batch = 8, .steps = 4}});
  });
  exam.check("skip_first_batches() from the beginning of an epoch",
             [](Check& check) { check_job(check, 18, {{.world_size = 2, .total_batch = 4, .steps = 6, .skip = 3}}); });
  exam.check("skip_first_batches() after load_state()", [](Check& check) {
    check_job(check, 18, {{.world_size = 2, .total_batch = 4, .steps = 5, .skip = 2}}, {.epoch = 1, .consumed = 4});
  });
  exam.full_check("random restarts on 1 to 5 ranks", [](Check& check) {
    PhiloxSequence random(check.seed(), 84);
    std::vector<Run> runs;
    for (int i = 0; i < 12; ++i) {
      const int ranks = static_cast<int>(1 + random.next_below(5));
      runs.push_back({.world_size = ranks,
                      .total_batch = ranks * static_cast<std::int64_t>(1 + random.next_below(4)),
                      .steps = static_cast<std::int64_t>(1 + random.next_below(6))});
    }
    check_job(check, 130,
              runs);  // 12 runs of 6 batches of 20 samples at most: 1440 samples, and an epoch has 111 or more
  });
}

}  // namespace lockstep::exercise
