#include "10_tensor_parallel/4_predict_traffic/traffic.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_10_4 {

using tensor_parallel::CollectiveCounts;
using tensor_parallel::Rows;
using tensor_parallel::TensorRun;

// Rules that people apply in place of the right ones; `what` completes "that is what comes out if ".
struct Rules {
  const char* what = "";
  bool has_forward = true, has_backward = true;
  std::int64_t halves = 2;  // of a block
  bool has_embedding = true, has_head = true;
  enum class Loss { kRight, kLeftOut, kOneContribution, kLogits } loss = Loss::kRight;
  enum class Norms { kRight, kLeftOut, kEveryMicroBatch, kWithoutLast, kWeightsOnly, kWholeToo } norms = Norms::kRight;
  enum class Again { kHalves, kNothing, kHeadToo } gathered_again = Again::kHalves;
  enum class Recompute { kRight, kLeftOut, kEmbeddingToo, kServesBackward, kBackwardToo } recompute = Recompute::kRight;
  bool has_micro_batches = true;
  enum class Bytes {
    kRight,
    kAllReduceOnce,
    kAllBytes,
    kReceivedToo,
    kElements,
    kOwnRows,
    kQuotient,
    kCutOff
  } bytes = Bytes::kRight;
};

const Rules kWrongRules[] = {
    {.what = "only the forward pass is counted", .has_backward = false},
    {.what = "only the backward pass is counted", .has_forward = false},
    {.what = "a block is counted once, but attention and the MLP each have their own", .halves = 1},
    {.what = "one of the two ends is left out, the embedding or the head", .has_head = false},
    {.what = "the embedding and the head are left out", .has_embedding = false, .has_head = false},
    {.what = "the loss is left out", .loss = Rules::Loss::kLeftOut},
    {.what = "the loss's all-gather is counted with one rank's numbers", .loss = Rules::Loss::kOneContribution},
    {.what = "all logits are gathered for the loss", .loss = Rules::Loss::kLogits},
    {.what = "the gradients of norms are left out", .norms = Rules::Norms::kLeftOut},
    {.what = "the gradients of norms are summed in every micro-batch", .norms = Rules::Norms::kEveryMicroBatch},
    {.what = "the norm after the last block is left out", .norms = Rules::Norms::kWithoutLast},
    {.what = "norms are counted without their biases", .norms = Rules::Norms::kWeightsOnly},
    {.what = "the gradients of norms are summed with whole rows too, although all ranks have the same there",
     .norms = Rules::Norms::kWholeToo},
    {.what = "backward does not gather the halves' rows once more", .gathered_again = Rules::Again::kNothing},
    {.what = "backward gathers the head's rows once more: they are kept", .gathered_again = Rules::Again::kHeadToo},
    {.what = "recomputed blocks send nothing", .recompute = Rules::Recompute::kLeftOut},
    {.what = "the embedding is recomputed too: it belongs to no block", .recompute = Rules::Recompute::kEmbeddingToo},
    {.what = "backward uses the rows that recomputing has gathered: they are not kept either",
     .recompute = Rules::Recompute::kServesBackward},
    {.what = "recomputing repeats the collectives of backward too", .recompute = Rules::Recompute::kBackwardToo},
    {.what = "a single micro-batch is counted", .has_micro_batches = false},
    {.what = "an all-reduce is counted as one half of it", .bytes = Rules::Bytes::kAllReduceOnce},
    {.what = "what a rank has already is sent too: it sends (ranks - 1) / ranks of the bytes",
     .bytes = Rules::Bytes::kAllBytes},
    {.what = "what a rank receives is counted too", .bytes = Rules::Bytes::kReceivedToo},
    {.what = "elements are counted, and each has 4 bytes", .bytes = Rules::Bytes::kElements},
    {.what = "collectives of divided rows are counted with a rank's own rows only", .bytes = Rules::Bytes::kOwnRows},
    {.what = "(ranks - 1) / ranks is a quotient of two integers, and 0: multiply first",
     .bytes = Rules::Bytes::kQuotient},
    {.what = "a factor such as 1 - 1.0 / ranks is rounded, and the product cut off: use integers",
     .bytes = Rules::Bytes::kCutOff},
};

// A step, played collective by collective.
class Step {
 public:
  Step(const TensorRun& run, const Rules& rules) : run_(run), rules_(rules), is_divided_(run.layout == Rows::kDivided) {
    for (std::int64_t i = 0; i < (rules.has_micro_batches ? run.micro_batches : 1); ++i) micro_batch();
    if (rules.norms != Rules::Norms::kEveryMicroBatch) sum_norms();
  }

  [[nodiscard]] const CollectiveCounts& counts() const { return counts_; }
  [[nodiscard]] std::int64_t bytes() const {
    using Bytes = Rules::Bytes;
    if (rules_.bytes == Bytes::kAllBytes) return 4 * elements_;
    const std::int64_t sent = elements_ / run_.ranks * (run_.ranks - 1);
    if (rules_.bytes == Bytes::kElements) return sent;
    if (rules_.bytes == Bytes::kQuotient) return 0;
    if (rules_.bytes == Bytes::kCutOff) return 4 * sent - 1;
    return (rules_.bytes == Bytes::kReceivedToo ? 8 : 4) * sent;
  }

 private:
  void all_reduce(std::int64_t elements) {
    ++counts_.all_reduces;
    elements_ += (rules_.bytes == Rules::Bytes::kAllReduceOnce ? 1 : 2) * elements;
  }
  void all_gather(std::int64_t elements) {
    ++counts_.all_gathers;
    elements_ += elements;
  }
  void reduce_scatter(std::int64_t elements) {
    ++counts_.reduce_scatters;
    elements_ += elements;
  }
  [[nodiscard]] std::int64_t rows() const {
    const std::int64_t all = run_.rows * run_.channels;
    return is_divided_ && rules_.bytes == Rules::Bytes::kOwnRows ? all / run_.ranks : all;
  }

  void begin_forward() {
    if (is_divided_) all_gather(rows());
  }
  void begin_backward() { is_divided_ ? reduce_scatter(rows()) : all_reduce(rows()); }
  void end_forward() { is_divided_ ? reduce_scatter(rows()) : all_reduce(rows()); }
  void end_backward() {
    if (is_divided_) all_gather(rows());
  }

  void half_forward() {
    begin_forward();
    end_forward();
  }
  void half_backward(bool has_gathered) {
    end_backward();
    if (is_divided_ && !has_gathered && rules_.gathered_again != Rules::Again::kNothing) all_gather(rows());
    begin_backward();
  }

  void micro_batch() {
    const std::int64_t halves = rules_.halves * run_.blocks;
    if (rules_.has_forward) {
      if (rules_.has_embedding) end_forward();
      for (std::int64_t half = 0; half < halves; ++half) half_forward();
      if (rules_.has_head) begin_forward();
    }
    loss();
    if (rules_.has_backward) backward(halves);
    if (rules_.norms == Rules::Norms::kEveryMicroBatch) sum_norms();
  }

  void backward(std::int64_t halves) {
    using Recompute = Rules::Recompute;
    const bool recomputes = run_.recomputes_blocks && rules_.recompute != Recompute::kLeftOut;
    if (rules_.has_head) {
      if (is_divided_ && rules_.gathered_again == Rules::Again::kHeadToo) all_gather(rows());
      begin_backward();
    }
    for (std::int64_t half = 0; half < halves; ++half) {
      if (recomputes) half_forward();
      if (recomputes && rules_.recompute == Recompute::kBackwardToo) half_backward(false);
      half_backward(recomputes && rules_.recompute == Recompute::kServesBackward);
    }
    if (recomputes && rules_.recompute == Recompute::kEmbeddingToo) end_forward();
    if (rules_.has_embedding) end_backward();
  }

  void loss() {
    if (rules_.loss == Rules::Loss::kRight) all_gather(3 * run_.rows * run_.ranks);
    if (rules_.loss == Rules::Loss::kOneContribution) all_gather(3 * run_.rows);
    if (rules_.loss == Rules::Loss::kLogits) all_gather(run_.rows * run_.vocabulary);
  }

  void sum_norms() {
    using Norms = Rules::Norms;
    if (rules_.norms == Norms::kLeftOut || (!is_divided_ && rules_.norms != Norms::kWholeToo)) return;
    const std::int64_t norms = 2 * run_.blocks + (rules_.norms == Norms::kWithoutLast ? 0 : 1);
    all_reduce((rules_.norms == Norms::kWeightsOnly ? 1 : 2) * norms * run_.channels);
  }

  TensorRun run_;
  Rules rules_;
  bool is_divided_;
  CollectiveCounts counts_;
  std::int64_t elements_ = 0;  // of all collectives, an all-reduce counting twice
};

std::string text_of(const TensorRun& run) {
  return concat(run.layout == Rows::kDivided ? "divided" : "whole", " rows, L ", run.blocks, ", R ", run.rows, ", C ",
                run.channels, ", ", run.ranks, " ranks, ", run.micro_batches,
                run.micro_batches == 1 ? " micro-batch" : " micro-batches",
                run.recomputes_blocks ? ", blocks recomputed" : "");
}

// "6 all-reduces, 1 all-gather and 0 reduce-scatters"
std::string list_of(const CollectiveCounts& counts) {
  const auto several = [](std::int64_t count, const char* what) {
    return concat(count, " ", what, count == 1 ? "" : "s");
  };
  return concat(several(counts.all_reduces, "all-reduce"), ", ", several(counts.all_gathers, "all-gather"), " and ",
                several(counts.reduce_scatters, "reduce-scatter"));
}

template <typename Is>
std::string explained(const TensorRun& run, const Is& is_what_came_out) {
  std::vector<std::string> causes;
  for (const Rules& rules : kWrongRules)
    if (is_what_came_out(Step(run, rules))) causes.emplace_back(rules.what);
  const std::string cause = what_comes_out(causes);
  return cause.empty() ? "" : concat(": ", cause);
}

void check_run(Check& check, const TensorRun& run) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"blocks", run.blocks},
                          {"rows", run.rows},
                          {"channels", run.channels},
                          {"vocabulary", run.vocabulary},
                          {"ranks", run.ranks},
                          {"micro_batches", run.micro_batches},
                          {"is_divided", run.layout == Rows::kDivided},
                          {"recomputes_blocks", run.recomputes_blocks}};
  }});
  const auto numbers = check.numbers<std::int64_t>(outcome, 0, "counts");
  const CollectiveCounts got{numbers.at(0), numbers.at(1), numbers.at(2)};
  const auto bytes = check.get<std::int64_t>(outcome, 0, "bytes");
  const Step right(run, {});
  if (got != right.counts())
    check.wrong(concat(text_of(run), ": a step has ", list_of(right.counts()), "; got ", list_of(got),
                       explained(run, [&](const Step& step) { return step.counts() == got; })));
  if (bytes != right.bytes())
    check.wrong(
        concat(text_of(run), ": a rank sends ", right.bytes(), " bytes; got ", bytes,
               explained(run, [&](const Step& step) { return step.counts() == got && step.bytes() == bytes; })));
}

TensorRun divided(TensorRun run) {
  run.layout = Rows::kDivided;
  return run;
}

}  // namespace checks_10_4

void judge_10_4(Examination& exam) {
  using namespace checks_10_4;
  exam.check("two blocks, whole rows", [](Check& check) {
    check_run(check, {.blocks = 2, .rows = 8, .channels = 4, .vocabulary = 50, .ranks = 4});
  });
  exam.check("several blocks and ranks, whole rows", [](Check& check) {
    check_run(check, {.blocks = 5, .rows = 24, .channels = 12, .vocabulary = 100, .ranks = 4});
    check_run(check, {.blocks = 12, .rows = 60, .channels = 30, .vocabulary = 100, .ranks = 3});
  });
  exam.check("divided rows", [](Check& check) {
    check_run(check, divided({.blocks = 2, .rows = 8, .channels = 4, .vocabulary = 50, .ranks = 4}));
    check_run(check, divided({.blocks = 1, .rows = 8, .channels = 4, .vocabulary = 50, .ranks = 2}));
    check_run(check, divided({.blocks = 5, .rows = 24, .channels = 12, .vocabulary = 100, .ranks = 4}));
  });
  exam.check("several micro-batches", [](Check& check) {
    const TensorRun run{.blocks = 3, .rows = 16, .channels = 8, .vocabulary = 90, .ranks = 4, .micro_batches = 5};
    check_run(check, run);
    check_run(check, divided(run));
  });
  exam.check("recomputed blocks", [](Check& check) {
    TensorRun run{.blocks = 3, .rows = 16, .channels = 8, .vocabulary = 90, .ranks = 4};
    run.recomputes_blocks = true;
    check_run(check, divided(run));
    check_run(check, run);
  });
  exam.check("GPT-2 with 124 million parameters", [](Check& check) {
    const TensorRun run{.blocks = 12, .rows = 8192, .channels = 768, .vocabulary = 50257, .ranks = 8};
    check_run(check, run);
    check_run(check, divided(run));
  });
  exam.full_check("random models", [](Check& check) {
    PhiloxSequence random(check.seed(), 105);
    const auto drawn = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random.next_below(most)); };
    for (int round = 0; round < 12; ++round) {
      TensorRun run{.blocks = drawn(48),
                    .rows = drawn(2000),
                    .channels = drawn(300),
                    .vocabulary = drawn(60'000),
                    .ranks = 1 + drawn(8),
                    .micro_batches = drawn(6)};
      run.rows *= run.ranks;
      run.channels *= run.ranks;
      run.recomputes_blocks = random.next_below(2) == 1;
      check_run(check, round % 2 == 0 ? run : divided(run));
    }
  });
}

}  // namespace lockstep::exercise
