#include "../../explanation.hpp"
#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_12_3 {

using bytes_by_axis::BytesByAxis;
using bytes_by_axis::GridRun;

// Rules that people apply in place of the right ones; `what` completes "that is what comes out if ".
struct Rules {
  const char* what = "";
  bool all_blocks = false;
  enum class Ends { kRight, kNone, kEverywhere, kNoHead } ends = Ends::kRight;
  enum class Loss { kRight, kNone, kOfOneRank } loss = Loss::kRight;
  bool blocks_have_backward = true, all_reduce_is_half = false, has_micro_batches = true;
  enum class Data { kRight, kEachMicroBatch, kWhole, kGradientsOnly, kTableOnLast, kNoTable } data = Data::kRight;
  enum class Border { kRight, kActivationsOnly, kRing, kDivided } border = Border::kRight;
  enum class Table { kRight, kNone, kEachMicroBatch, kToItself, kWhole } table = Table::kRight;
  enum class Bytes { kRight, kWholeBuffers, kElements, kQuotient } bytes = Bytes::kRight;
};

const Rules kWrongRules[] = {
    {.what = "every stage has the blocks of the whole model", .all_blocks = true},
    {.what = "the embedding and the head are left out", .ends = Rules::Ends::kNone},
    {.what = "the head's all-reduce in backward is left out", .ends = Rules::Ends::kNoHead},
    {.what = "every stage has an embedding and a head", .ends = Rules::Ends::kEverywhere},
    {.what = "the loss is left out", .loss = Rules::Loss::kNone},
    {.what = "the loss's all-gather is counted with one rank's numbers", .loss = Rules::Loss::kOfOneRank},
    {.what = "a block's sums are counted in the forward pass only", .blocks_have_backward = false},
    {.what = "an all-reduce is counted like one half of it", .all_reduce_is_half = true},
    {.what = "a single micro-batch is counted", .has_micro_batches = false},
    {.what = "gradients travel in every micro-batch", .data = Rules::Data::kEachMicroBatch},
    {.what = "matrices are counted whole, and a rank has 1 / T of each", .data = Rules::Data::kWhole},
    {.what = "values are not gathered after the update", .data = Rules::Data::kGradientsOnly},
    {.what = "the last stage owns the table, too", .data = Rules::Data::kTableOnLast},
    {.what = "the table is left out on the data axis", .data = Rules::Data::kNoTable},
    {.what = "no gradient goes back along the pipeline", .border = Rules::Border::kActivationsOnly},
    {.what = "every stage sends to two neighbours", .border = Rules::Border::kRing},
    {.what = "tensor ranks divide the activations between stages", .border = Rules::Border::kDivided},
    {.what = "the table is left out on the pipeline axis", .table = Rules::Table::kNone},
    {.what = "the table travels in every micro-batch", .table = Rules::Table::kEachMicroBatch},
    {.what = "the table is sent whole, and a rank has the rows of 1 / T of its tokens", .table = Rules::Table::kWhole},
    {.what = "a model on one stage sends its table", .table = Rules::Table::kToItself},
    {.what = "all elements of a collective are counted, and a rank sends (n - 1) / n of them",
     .bytes = Rules::Bytes::kWholeBuffers},
    {.what = "elements are counted, and each has 4 bytes", .bytes = Rules::Bytes::kElements},
    {.what = "(n - 1) / n is a quotient of two integers, and 0: multiply first", .bytes = Rules::Bytes::kQuotient},
};

// A step of one stage, played collective by collective and message by message.
class Step {
 public:
  Step(const GridRun& run, std::int64_t stage, const Rules& rules)
      : run_(run), rules_(rules), is_first_(stage == 0), is_last_(stage + 1 == run.pipeline) {
    for (std::int64_t i = 0; i < (rules.has_micro_batches ? run.micro_batches : 1); ++i) {
      micro_batch();
      if (i == 0 || rules.table == Rules::Table::kEachMicroBatch) send_table();
      if (i == 0 || rules.data == Rules::Data::kEachMicroBatch) update();
    }
  }

  [[nodiscard]] BytesByAxis bytes() const {
    const std::int64_t each = rules_.bytes == Rules::Bytes::kElements ? 1 : 4;
    return {.pipeline = each * pipeline_, .data = each * data_, .tensor = each * tensor_};
  }

 private:
  [[nodiscard]] std::int64_t half(std::int64_t elements, std::int64_t ranks) const {
    if (ranks == 1 || rules_.bytes == Rules::Bytes::kQuotient) return 0;
    return rules_.bytes == Rules::Bytes::kWholeBuffers ? elements : elements / ranks * (ranks - 1);
  }
  void all_reduce() { tensor_ += (rules_.all_reduce_is_half ? 1 : 2) * half(run_.rows * run_.channels, run_.tensor); }
  [[nodiscard]] std::int64_t blocks() const { return rules_.all_blocks ? run_.blocks : run_.blocks / run_.pipeline; }
  [[nodiscard]] std::int64_t table() const { return run_.vocabulary * run_.channels / run_.tensor; }
  [[nodiscard]] bool has_end(bool is_there) const {
    return rules_.ends == Rules::Ends::kEverywhere || (is_there && rules_.ends != Rules::Ends::kNone);
  }

  void micro_batch() {
    using Border = Rules::Border;
    if (has_end(is_first_)) all_reduce();
    for (std::int64_t block = 0; block < blocks(); ++block)
      for (int sum = 0; sum < (rules_.blocks_have_backward ? 4 : 2); ++sum) all_reduce();
    if (has_end(is_last_) && rules_.ends != Rules::Ends::kNoHead) all_reduce();
    if (is_last_ && rules_.loss != Rules::Loss::kNone)
      tensor_ += half(3 * run_.rows * (rules_.loss == Rules::Loss::kOfOneRank ? 1 : run_.tensor), run_.tensor);
    const std::int64_t rows = run_.rows * run_.channels / (rules_.border == Border::kDivided ? run_.tensor : 1);
    const bool is_ring = rules_.border == Border::kRing && run_.pipeline > 1;
    if (!is_last_ || is_ring) pipeline_ += rows;
    if ((!is_first_ && rules_.border != Border::kActivationsOnly) || is_ring) pipeline_ += rows;
  }

  void send_table() {
    if (rules_.table == Rules::Table::kNone) return;
    if ((run_.pipeline > 1 || rules_.table == Rules::Table::kToItself) && (is_first_ || is_last_))
      pipeline_ += table() * (rules_.table == Rules::Table::kWhole ? run_.tensor : 1);
  }

  void update() {
    using Data = Rules::Data;
    std::int64_t own = blocks() * (12 * run_.channels * run_.channels / run_.tensor);
    if (rules_.data != Data::kNoTable && (is_first_ || (is_last_ && rules_.data == Data::kTableOnLast))) own += table();
    if (rules_.data == Data::kWhole) own *= run_.tensor;
    data_ += half(own, run_.data) * (rules_.data == Data::kGradientsOnly ? 1 : 2);
  }

  GridRun run_;
  Rules rules_;
  bool is_first_, is_last_;
  std::int64_t pipeline_ = 0, data_ = 0, tensor_ = 0;
};

std::string text_of(const GridRun& run, std::int64_t stage) {
  return concat("P ", run.pipeline, ", D ", run.data, ", T ", run.tensor, ", L ", run.blocks, ", R ", run.rows, ", C ",
                run.channels, ", V ", run.vocabulary, ", m ", run.micro_batches, ", stage ", stage);
}

void check_axis(Check& check, const GridRun& run, std::int64_t stage, const char* name, std::int64_t BytesByAxis::*axis,
                const BytesByAxis& got) {
  const std::int64_t expected = Step(run, stage, {}).bytes().*axis;
  if (got.*axis == expected) return;
  std::vector<std::string> causes;
  for (const Rules& rules : kWrongRules)
    if (Step(run, stage, rules).bytes().*axis == got.*axis) causes.emplace_back(rules.what);
  check.wrong(concat(text_of(run, stage), ": on the ", name, " axis a rank sends ", expected, " bytes; got ", got.*axis,
                     explanation_of(causes)));
}

void check_run(Check& check, const GridRun& run, const Outcome& outcome) {
  const auto bytes = check.numbers<std::int64_t>(outcome, 0, "bytes");
  check.expect(std::ssize(bytes) == 3 * run.pipeline, "the program's answer makes no sense");
  for (std::int64_t stage = 0; stage < run.pipeline; ++stage) {
    const auto at = static_cast<std::size_t>(3 * stage);
    const BytesByAxis got{bytes[at], bytes[at + 1], bytes[at + 2]};
    check_axis(check, run, stage, "tensor", &BytesByAxis::tensor, got);
    check_axis(check, run, stage, "pipeline", &BytesByAxis::pipeline, got);
    check_axis(check, run, stage, "data", &BytesByAxis::data, got);
  }
}

nlohmann::json question_about(const GridRun& run) {
  return {{"pipeline", run.pipeline},
          {"data", run.data},
          {"tensor", run.tensor},
          {"blocks", run.blocks},
          {"rows", run.rows},
          {"channels", run.channels},
          {"vocabulary", run.vocabulary},
          {"micro_batches", run.micro_batches}};
}

// Asks about all runs before it looks at the answers: mistakes that agree in one run differ in another.
void check_runs(Check& check, const std::vector<GridRun>& runs) {
  for (const GridRun& run : runs) check.run({.question = [&](int) { return question_about(run); }});
  for (std::size_t i = 0; i < runs.size(); ++i) check_run(check, runs[i], check.outcomes()[i]);
}

// Divisible by everything: 8 blocks, 16 rows, 24 channels.
GridRun small(std::int64_t pipeline, std::int64_t data, std::int64_t tensor, std::int64_t micro_batches = 1) {
  return {.pipeline = pipeline,
          .data = data,
          .tensor = tensor,
          .blocks = 8,
          .rows = 16,
          .channels = 24,
          .vocabulary = 96,
          .micro_batches = micro_batches};
}

}  // namespace checks_12_3

void judge_12_3(Examination& exam) {
  using namespace checks_12_3;
  exam.check("the tensor axis alone", [](Check& check) { check_runs(check, {small(1, 1, 4), small(1, 1, 2, 3)}); });
  exam.check("the data axis alone", [](Check& check) { check_runs(check, {small(1, 4, 1, 3)}); });
  exam.check("the pipeline axis alone", [](Check& check) {
    check_runs(check, {small(4, 1, 1, 3), small(2, 1, 1), small(1, 1, 1)});
  });
  // With two micro-batches and two ranks along an axis, a factor m would look like a factor T.
  exam.check("two axes", [](Check& check) {
    check_runs(check, {small(1, 2, 2, 3), small(2, 1, 2, 3), small(2, 2, 1, 3)});
  });
  exam.check("2 x 2 x 2, and the example of the task", [](Check& check) {
    check_runs(check,
               {small(2, 2, 2, 4),
                {.pipeline = 2, .data = 2, .tensor = 2, .blocks = 4, .rows = 8, .channels = 4, .vocabulary = 10}});
  });
  exam.check("GPT-2 with 124 million parameters", [](Check& check) {
    check_runs(check, {{.pipeline = 4,
                        .data = 2,
                        .tensor = 4,
                        .blocks = 12,
                        .rows = 4096,
                        .channels = 768,
                        .vocabulary = 50304,
                        .micro_batches = 8}});
  });
  exam.full_check("random runs", [](Check& check) {
    PhiloxSequence random(check.seed(), 123);
    const auto drawn = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random.next_below(most)); };
    std::vector<GridRun> runs;
    for (int round = 0; round < 8; ++round) {
      GridRun run{.pipeline = drawn(4), .data = drawn(4), .tensor = drawn(4), .micro_batches = drawn(6)};
      const std::int64_t all = run.pipeline * run.data * run.tensor;
      run.blocks = run.pipeline * drawn(6);
      run.rows = run.tensor * drawn(50);
      run.channels = all * drawn(10);
      run.vocabulary = all * drawn(100);
      runs.push_back(run);
    }
    check_runs(check, runs);
  });
}

}  // namespace lockstep::exercise
