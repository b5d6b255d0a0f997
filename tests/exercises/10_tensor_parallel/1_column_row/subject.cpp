#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "10_tensor_parallel/1_column_row/column_row.hpp"

namespace lockstep::exercise {
namespace {

using tensor_parallel::Matrix;

Matrix matrix_of(const Question& question, const std::string& name, std::int64_t rows, std::int64_t columns) {
  return {rows, columns, question.numbers<float>(name)};
}

void report(Answer& answer, const std::string& name, const Matrix& matrix) {
  answer.set_numbers<std::int64_t>(name + "_shape", std::vector<std::int64_t>{matrix.rows, matrix.columns});
  answer.set_numbers<float>(name, matrix.elements);
}

}  // namespace

// The share of each rank in turn, and of forward() with this rank's own.
Answer answer(Question& question) {
  const auto rows = question.get<std::int64_t>("rows"), channels = question.get<std::int64_t>("channels"),
             hidden = question.get<std::int64_t>("hidden");
  const tensor_parallel::Mlp whole{.wide = matrix_of(question, "wide", channels, hidden),
                                   .wide_bias = question.numbers<float>("wide_bias"),
                                   .narrow = matrix_of(question, "narrow", hidden, channels),
                                   .narrow_bias = question.numbers<float>("narrow_bias")};
  const tensor_parallel::Samples samples(matrix_of(question, "batch", rows, channels));
  const tensor_parallel::Seeds seeds{.hidden = question.get<std::uint64_t>("hidden_seed"),
                                     .output = question.get<std::uint64_t>("output_seed")};
  const auto share = tensor_parallel::share_of(whole, question.rank(), question.world_size());
  Answer result;
  result.set_numbers<std::int64_t>("places", std::vector<std::int64_t>{share.first_hidden, share.all_hidden});
  report(result, "wide", share.wide);
  report(result, "narrow", share.narrow);
  result.set_numbers<float>("wide_bias", share.wide_bias);
  result.set_numbers<float>("narrow_bias", share.narrow_bias);
  LinkCollectives& group = question.collectives();
  report(result, "output", tensor_parallel::forward(samples, share, seeds, group));
  result.set(kNeverAwaited, never_awaited(group));
  result.set_numbers<std::int64_t>("all_reduces", group.issued("all_reduce"));
  result.set("others",
             static_cast<std::int64_t>(group.issued("broadcast").size() + group.issued("gather_rows").size()));
  return result;
}

}  // namespace lockstep::exercise
