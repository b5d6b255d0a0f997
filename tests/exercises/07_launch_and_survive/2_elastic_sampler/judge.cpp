#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_07_2 {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kEpochs = 24;  // that a job can have

// The same in every generation.
struct Data {
  std::int64_t samples = 1, global_batch = 1;
  bool keeps_short_batch = false;
};

// One generation: it continues where the one before has stopped.
struct Generation {
  int world_size = 1;
  std::int64_t steps = 1;
};

class Job {
 public:
  Job(Check& check, const Data& data, bool wants_scale) : check_(check), data_(data), wants_scale_(wants_scale) {
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      Numbers order(static_cast<std::size_t>(data.samples));
      std::iota(order.begin(), order.end(), std::int64_t{0});
      PhiloxSequence random(check.seed() + 72, static_cast<std::uint64_t>(epoch));
      for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.next_below(left)]);
      orders_.insert(orders_.end(), order.begin(), order.end());
    }
  }

  void run(const Generation& generation) {
    generation_ = generation;
    const Outcome& outcome =
        check_.run({.world_size = generation.world_size, .question = [&](int) {
                      return nlohmann::json{{"orders", to_message(std::span<const std::int64_t>(orders_))},
                                            {"samples", data_.samples},
                                            {"global_batch", data_.global_batch},
                                            {"keeps_short_batch", data_.keeps_short_batch},
                                            {"steps", generation.steps},
                                            {"wants_scale", wants_scale_},
                                            {"epoch", epoch_},
                                            {"consumed", consumed_}};
                    }});
    const std::int64_t epoch = epoch_, consumed = consumed_;
    for (int rank = 0; rank < generation.world_size; ++rank) {
      epoch_ = epoch;
      consumed_ = consumed;
      check_rank(outcome, rank);
    }
    ++number_;
  }

 private:
  [[nodiscard]] std::int64_t sample_at(std::int64_t position) const {
    return orders_[static_cast<std::size_t>(epoch_ * data_.samples + position)];
  }
  [[nodiscard]] std::int64_t batch_size() const { return std::min(data_.global_batch, data_.samples - consumed_); }

  [[nodiscard]] std::string place(std::int64_t step, int rank) const {
    return concat("generation ", number_, " (", generation_.world_size,
                  generation_.world_size == 1 ? " rank" : " ranks", ", global batches of ", data_.global_batch,
                  "), rank ", rank, ", step ", step, ", a batch of ", batch_size());
  }

  // From its place in the order of the epoch.
  [[nodiscard]] std::string explain(std::int64_t sample, std::int64_t wanted) const {
    if (sample < 0 || sample >= data_.samples) return "there is no such sample";
    std::int64_t position = 0;
    while (sample_at(position) != sample) ++position;
    const std::string found = concat("it stands at position ", position, " of epoch ", epoch_,
                                     "'s order, and position ", wanted, " belongs here");
    if (position < consumed_) return concat(found, "; a batch before this one has used it");
    const bool is_of_batch = position < consumed_ + batch_size();
    return concat(found, is_of_batch ? "; it belongs to another rank's share" : "; it belongs to a later batch");
  }

  void check_rank(const Outcome& outcome, int rank) {
    const Numbers used = check_.numbers<std::int64_t>(outcome, rank, "used"),
                  shares = check_.numbers<std::int64_t>(outcome, rank, "shares"),
                  sizes = check_.numbers<std::int64_t>(outcome, rank, "sizes"),
                  states = check_.numbers<std::int64_t>(outcome, rank, "states");
    const std::vector<double> scales = check_.numbers<double>(outcome, rank, "scales");
    const auto steps = static_cast<std::size_t>(generation_.steps);
    const bool is_whole = sizes.size() == steps && shares.size() == steps && states.size() == 2 * steps &&
                          scales.size() == (wants_scale_ ? steps : 0) &&
                          std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == std::ssize(used);
    check_.expect(is_whole, concat("rank ", rank, "'s answer is not one of ", steps, " steps"));
    auto next = used.begin();
    for (std::int64_t step = 0; step < generation_.steps; ++step) {
      const auto at = static_cast<std::size_t>(step);
      const std::int64_t ranks = generation_.world_size, batch = batch_size();
      std::int64_t share = 0;
      for (std::int64_t position = rank; position < batch; position += ranks, ++share) {
        if (share >= sizes[at] || next == used.end()) continue;
        const std::int64_t sample = *next++, wanted = sample_at(consumed_ + position);
        if (sample != wanted)
          check_.wrong(concat(place(step, rank), ", element ", share, ": expected sample ", wanted, ", got ", sample,
                              ": ", explain(sample, consumed_ + position)));
      }
      if (shares[at] != share)
        check_.wrong(concat(place(step, rank), ": share_of(", batch, ") is ", shares[at], "; expected ", share));
      if (sizes[at] != share)
        check_.wrong(
            concat(place(step, rank), ": indices() has only ", sizes[at], " more of this epoch; the share is ", share));
      if (wants_scale_) check_scale(scales[at], share, step, rank);
      check_state(states[2 * at], states[2 * at + 1], step, rank);
    }
    const auto surplus = check_.get<std::int64_t>(outcome, rank, "surplus");
    check_.expect(surplus == 0,
                  concat(place(generation_.steps - 1, rank), ": by then indices() has returned ", surplus,
                         " samples too many, beyond the last batches of their epochs"),
                  "without keeps_short_batch the samples that do not fill a batch are left out");
  }

  // Before the state moves on.
  void check_scale(double scale, std::int64_t share, std::int64_t step, int rank) {
    const double wanted = static_cast<double>(generation_.world_size * share) / static_cast<double>(batch_size());
    if (std::abs(scale - wanted) > 1e-12)
      check_.wrong(concat(place(step, rank), ": gradient_scale() is ", shown(scale), "; expected ", shown(wanted),
                          ", because this rank has ", share, " of ", batch_size(), " samples"));
  }

  // Moves the judge's own position, and compares.
  void check_state(std::int64_t epoch, std::int64_t consumed, std::int64_t step, int rank) {
    const std::string where = place(step, rank);
    consumed_ += batch_size();
    const std::int64_t left = data_.samples - consumed_;
    if (left == 0 || (left < data_.global_batch && !data_.keeps_short_batch)) {
      ++epoch_;
      consumed_ = 0;
    }
    if (epoch != epoch_ || consumed != consumed_)
      check_.wrong(concat(where, ": after advance() state() is epoch ", epoch, ", consumed ", consumed,
                          "; expected epoch ", epoch_, ", consumed ", consumed_));
  }

  Check& check_;
  Data data_;
  bool wants_scale_;
  Numbers orders_;  // [kEpochs, samples]
  Generation generation_;
  std::int64_t epoch_ = 0, consumed_ = 0;  // position of the one process that does not stop
  int number_ = 0;
};

void check_job(Check& check, const Data& data, const std::vector<Generation>& generations, bool wants_scale = false) {
  Job job(check, data, wants_scale);
  for (const Generation& generation : generations) job.run(generation);
}

void check_random_generations(Check& check) {
  PhiloxSequence random(check.seed(), 73);
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.next_below(bound)); };
  for (const bool keeps : {false, true}) {
    const std::int64_t batch = 6 + below(8);
    std::vector<Generation> generations;
    for (int i = 0; i < 8; ++i)
      generations.push_back({.world_size = static_cast<int>(1 + below(6)), .steps = 1 + below(5)});
    // 40 steps of 13 at most, which is less than 24 epochs of 40.
    check_job(check, {.samples = 40 + below(30), .global_batch = batch, .keeps_short_batch = keeps}, generations, true);
  }
}

}  // namespace checks_07_2

void judge_07_2(Examination& exam) {
  using namespace checks_07_2;
  const Data even{.samples = 34, .global_batch = 8},
      short_last{.samples = 22, .global_batch = 5, .keeps_short_batch = true};
  exam.check("one rank, two epochs", [&](Check& check) { check_job(check, even, {{.steps = 9}}); });
  exam.check("2 ranks, batches of 8", [&](Check& check) { check_job(check, even, {{.world_size = 2, .steps = 6}}); });
  exam.check("3 ranks, batches of 8", [&](Check& check) { check_job(check, even, {{.world_size = 3, .steps = 6}}); });
  exam.check("2 ranks, then 2 again", [&](Check& check) {
    check_job(check, even, {{.world_size = 2, .steps = 3}, {.world_size = 2, .steps = 3}});
  });
  exam.check("2 ranks, then 3, then 5, then 1", [&](Check& check) {
    check_job(check, even,
              {{.world_size = 2, .steps = 1},
               {.world_size = 3, .steps = 2},
               {.world_size = 5, .steps = 3},
               {.world_size = 1, .steps = 2}});
  });
  exam.check("a short last batch", [&](Check& check) {
    check_job(check, short_last, {{.world_size = 1, .steps = 7}, {.world_size = 2, .steps = 9}});
  });
  exam.check("a short last batch with fewer samples than ranks", [&](Check& check) {
    check_job(check, short_last, {{.world_size = 4, .steps = 4}, {.world_size = 3, .steps = 3}});
  });
  exam.check("the last batch is exactly what is left", [](Check& check) {
    check_job(check, {.samples = 24, .global_batch = 8}, {{.world_size = 2, .steps = 7}});
    check_job(check, {.samples = 11, .global_batch = 5, .keeps_short_batch = true}, {{.world_size = 2, .steps = 7}});
  });
  exam.check("no sample is left for a short batch", [](Check& check) {
    check_job(check, {.samples = 12, .global_batch = 4, .keeps_short_batch = true}, {{.world_size = 3, .steps = 7}});
  });
  exam.check("the scale of gradients, 2 and 3 ranks", [&](Check& check) {
    check_job(check, even, {{.world_size = 2, .steps = 2}, {.world_size = 3, .steps = 2}}, true);
  });
  exam.check("the scale of gradients of a short batch",
             [&](Check& check) { check_job(check, short_last, {{.world_size = 4, .steps = 6}}, true); });
  exam.full_check("random generations of 1 to 6 ranks", check_random_generations);
}

}  // namespace lockstep::exercise
