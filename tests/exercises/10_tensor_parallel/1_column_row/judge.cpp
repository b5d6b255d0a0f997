#include <algorithm>
#include <optional>

#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "mlp_reference.hpp"

namespace lockstep::exercise {
namespace checks_10_1 {

using tensor_parallel::Matrix;
using Numbers = std::vector<std::int64_t>;

Matrix matrix_in(Check& check, const Outcome& outcome, int rank, const std::string& name) {
  const Numbers shape = check.numbers<std::int64_t>(outcome, rank, name + "_shape");
  check.expect(shape.size() == 2, "the program's answer makes no sense");
  Matrix matrix{shape[0], shape[1], check.numbers<float>(outcome, rank, name)};
  const auto count = static_cast<std::int64_t>(matrix.elements.size());
  check.expect(matrix.rows >= 0 && matrix.columns >= 0 && matrix.rows * matrix.columns == count,
               concat("rank ", rank, ": ", name, " says that it has ", matrix.rows, " rows and ", matrix.columns,
                      " columns, and has ", count, " elements"));
  return matrix;
}

Matrix transposed(const Matrix& matrix) {
  Matrix result = Matrix::zeros(matrix.columns, matrix.rows);
  for (std::int64_t i = 0; i < matrix.rows; ++i)
    for (std::int64_t j = 0; j < matrix.columns; ++j) result.at(j, i) = matrix.at(i, j);
  return result;
}

std::span<const float> row_of(const Matrix& matrix, std::int64_t row) {
  return std::span(matrix.elements)
      .subspan(static_cast<std::size_t>(row * matrix.columns), static_cast<std::size_t>(matrix.columns));
}

// The hidden channel whose weights these are.
std::optional<std::int64_t> channel_with(const Matrix& whole, std::span<const float> weights) {
  for (std::int64_t h = 0; h < whole.rows; ++h)
    if (std::ranges::equal(row_of(whole, h), weights)) return h;
  return std::nullopt;
}

struct Part {
  std::string place;  // "3 ranks, rank 1"
  std::int64_t first, end;
  std::string line;  // of a matrix: "column" or "row"
};

// A part of a matrix, and the matrix itself, both with one row for each hidden channel.
void check_part(Check& check, const Part& part, const std::string& name, const Matrix& got, const Matrix& whole) {
  const std::string place = concat(part.place, ": ", name, " of the share");
  if (got.rows == whole.rows && got.columns == whole.columns && part.end - part.first < whole.rows)
    check.wrong(concat(place, " has all ", whole.rows, " hidden channels: nothing is cut"),
                "each rank keeps the weights of its own channels");
  if (got.columns != whole.columns)
    check.wrong(concat(place, " is cut in the other direction: it has ", got.columns, " of ", whole.columns,
                       " channels, and ", got.rows, " of ", whole.rows, " hidden ones"),
                "the first matrix is cut by columns, the second by rows: both by hidden channels");
  check.expect(got.rows == part.end - part.first,
               concat(place, " has ", got.rows, " ", part.line, "s; hidden channels ", part.first, " to ", part.end - 1,
                      " are ", part.end - part.first),
               "rank r has the channels from H * r / N up to H * (r + 1) / N, without that one");
  for (std::int64_t h = 0; h < got.rows; ++h) {
    if (std::ranges::equal(row_of(got, h), row_of(whole, part.first + h))) continue;
    const std::optional<std::int64_t> other = channel_with(whole, row_of(got, h));
    check.wrong(concat(place, ": ", part.line, " ", h, " should be ", part.line, " ", part.first + h,
                       " of the whole matrix; it is ",
                       other ? concat(part.line, " ", *other) : concat("no ", part.line, " of it")),
                "a rank's channels are neighbours, and the next rank's follow them");
  }
}

// The shares of all ranks. The second bias is its author's choice.
void check_share(Check& check, const MlpTrial& trial, const MlpInputs& inputs, const Outcome& outcome, int rank) {
  Part part{.place = concat(trial.ranks, " ranks, ", trial.hidden, " hidden channels, rank ", rank),
            .first = trial.hidden * rank / trial.ranks,
            .end = trial.hidden * (rank + 1) / trial.ranks,
            .line = "column"};
  check_part(check, part, "wide", transposed(matrix_in(check, outcome, rank, "wide")), transposed(inputs.mlp.wide));
  part.line = "row";
  check_part(check, part, "narrow", matrix_in(check, outcome, rank, "narrow"), inputs.mlp.narrow);
  const auto wide_bias = check.numbers<float>(outcome, rank, "wide_bias"),
             narrow_bias = check.numbers<float>(outcome, rank, "narrow_bias");
  part.line = "element";
  check_part(check, part, "wide_bias", {std::ssize(wide_bias), 1, wide_bias}, {trial.hidden, 1, inputs.mlp.wide_bias});
  const Numbers places = check.numbers<std::int64_t>(outcome, rank, "places");
  check.expect(places == Numbers{part.first, trial.hidden},
               concat(part.place, ": first_hidden and all_hidden of the share should be ", part.first, " and ",
                      trial.hidden, "; they are ", places.at(0), " and ", places.at(1)));
  check.expect(std::ssize(narrow_bias) <= trial.channels,
               concat(part.place, ": narrow_bias has ", narrow_bias.size(), " elements of ", trial.channels));
}

// Channels may have equal weights, so nothing is said if several mistakes give the same numbers.
std::string explained(const MlpTrial& trial, const MlpInputs& inputs, std::span<const Matrix> outputs) {
  std::vector<std::string> causes;
  for (const WrongForward& wrong : kWrongForwards) {
    const MlpReference reference(trial, inputs, wrong);
    const auto is_same = [](const Matrix& a, const Matrix& b) { return a.elements == b.elements; };
    if (std::ranges::equal(outputs, reference.outputs(), is_same)) causes.emplace_back(wrong.what);
  }
  const std::string cause = what_comes_out(causes);
  return cause.empty() ? "" : concat(": ", cause);
}

void check_outputs(Check& check, const MlpTrial& trial, const MlpInputs& inputs, const Outcome& outcome) {
  const MlpReference reference(trial, inputs, {});
  std::vector<Matrix> outputs;
  for (int rank = 0; rank < trial.ranks; ++rank) outputs.push_back(matrix_in(check, outcome, rank, "output"));
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    const Matrix &got = outputs[rank], &expected = reference.outputs()[rank];
    const std::string place = concat(trial.ranks, " ranks, rank ", rank, ": ");
    if (got.rows != expected.rows || got.columns != expected.columns)
      check.wrong(concat(place, "the output has ", got.rows, " rows and ", got.columns, " columns, and not ",
                         expected.rows, " and ", expected.columns, explained(trial, inputs, outputs)),
                  "the output is that of all samples of the step, on every rank");
    for (std::int64_t i = 0; i < got.rows; ++i) {
      for (std::int64_t j = 0; j < got.columns; ++j) {
        if (got.at(i, j) == expected.at(i, j)) continue;
        check.wrong(concat(place, "row ", i, ", column ", j, " of the output is ", shown(expected.at(i, j)),
                           " with the uncut MLP; here it is ", shown(got.at(i, j)), explained(trial, inputs, outputs)));
      }
    }
  }
}

// One rank has nobody to send to: it may leave the all-reduce out.
void check_collectives(Check& check, const MlpTrial& trial, const Outcome& outcome, int rank) {
  const Numbers all_reduces = check.numbers<std::int64_t>(outcome, rank, "all_reduces");
  const auto others = check.get<std::int64_t>(outcome, rank, "others");
  std::string shown_counts;
  for (std::size_t i = 0; i < std::min<std::size_t>(all_reduces.size(), 4); ++i)
    shown_counts += concat(i == 0 ? " of " : ", ", all_reduces[i]);
  if (all_reduces.size() > 4) shown_counts += ", ...";
  const std::string place = concat("rank ", rank, " issued ", all_reduces.size(), " all-reduces", shown_counts);
  const std::int64_t count = trial.rows * trial.channels;
  const bool is_enough = all_reduces == Numbers{count} || (trial.ranks == 1 && all_reduces.empty());
  check.expect(is_enough && others == 0,
               concat(place, others == 0 ? "" : concat(" and ", others, " other collectives"), "; one of ", count,
                      " elements is enough"),
               "between the two products nothing is sent: each rank needs its own hidden channels only");
}

void check_mlp(Check& check, MlpTrial trial, TrialOptions options = {}) {
  trial.seed = check.seed();
  const MlpInputs inputs = inputs_of(trial);
  options.world_size = trial.ranks;
  options.question = [&](int) {
    const auto array = [](const std::vector<float>& values) { return to_message(std::span(values)); };
    return nlohmann::json{{"rows", trial.rows},
                          {"channels", trial.channels},
                          {"hidden", trial.hidden},
                          {"wide", array(inputs.mlp.wide.elements)},
                          {"wide_bias", array(inputs.mlp.wide_bias)},
                          {"narrow", array(inputs.mlp.narrow.elements)},
                          {"narrow_bias", array(inputs.mlp.narrow_bias)},
                          {"batch", array(inputs.batch.elements)},
                          {"hidden_seed", inputs.seeds.hidden},
                          {"output_seed", inputs.seeds.output}};
  };
  const Outcome& outcome = check.run(options);
  for (int rank = 0; rank < trial.ranks; ++rank) check_share(check, trial, inputs, outcome, rank);
  require_awaited(check, outcome, trial.ranks);
  check_outputs(check, trial, inputs, outcome);
  for (int rank = 0; rank < trial.ranks; ++rank) check_collectives(check, trial, outcome, rank);
}

}  // namespace checks_10_1

void judge_10_1(Examination& exam) {
  using namespace checks_10_1;
  exam.check("2 ranks", [](Check& check) { check_mlp(check, {}); });
  exam.check("one rank has the whole MLP", [](Check& check) { check_mlp(check, {.ranks = 1}); });
  exam.check("3 ranks, 10 hidden channels",
             [](Check& check) { check_mlp(check, {.ranks = 3, .rows = 9, .channels = 5, .hidden = 10}); });
  exam.check("4 ranks", [](Check& check) { check_mlp(check, {.ranks = 4, .rows = 12, .channels = 8, .hidden = 32}); });
  exam.check("4 ranks, one hidden channel each, one sample",
             [](Check& check) { check_mlp(check, {.ranks = 4, .rows = 1, .channels = 7, .hidden = 4}); });
  exam.full_check("4 ranks, the second one late", [](Check& check) {
    check_mlp(check, {.ranks = 4, .rows = 4, .channels = 4, .hidden = 9}, {.delayed_rank = 1});
  });
  exam.full_check("3 ranks, a large output through small buffers", [](Check& check) {
    check_mlp(check, {.ranks = 3, .rows = 600, .channels = 24, .hidden = 12}, {.has_small_buffers = true});
  });
  exam.full_check("random sizes", [](Check& check) {
    PhiloxSequence random(check.seed(), 102);
    for (int round = 0; round < 6; ++round) {
      const auto ranks = static_cast<int>(1 + random.next_below(4));
      check_mlp(check, {.ranks = ranks,
                        .rows = static_cast<std::int64_t>(1 + random.next_below(12)),
                        .channels = static_cast<std::int64_t>(1 + random.next_below(12)),
                        .hidden = ranks + static_cast<std::int64_t>(random.next_below(20))});
    }
  });
}

}  // namespace lockstep::exercise
