#include "exercise/subject.hpp"

#include <map>
#include <string>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"
#include "base/text.hpp"

namespace lockstep::exercise {
namespace {

using pipeline::Matrix;
using pipeline::Part;
using Numbers = std::vector<std::int64_t>;

Matrix matrix_of(const Question& question, const std::string& name, std::int64_t rows, std::int64_t columns) {
  return {rows, columns, question.numbers<float>(name)};
}

void report(Answer& answer, const std::string& name, const Matrix& matrix) {
  answer.set_numbers<std::int64_t>(name + "_shape", Numbers{matrix.rows, matrix.columns});
  answer.set_numbers<float>(name, matrix.elements);
}

std::int64_t elements_of(const pipeline::Held& held) {
  std::size_t count = 0;
  for (const auto* matrices : {&held.inputs, &held.gradients})
    for (const Matrix& matrix : *matrices) count += matrix.elements.size();
  return static_cast<std::int64_t>(count);
}

pipeline::Stage stage_of(const Question& question, std::int64_t channels) {
  pipeline::Stage stage;
  for (int i = 0; i < question.get<int>("weights"); ++i)
    stage.weights.push_back({matrix_of(question, concat("weight", i), channels, channels),
                             matrix_of(question, concat("sum", i), channels, channels)});
  for (const std::int64_t weight : question.numbers<std::int64_t>("layers"))
    stage.layers.push_back(static_cast<std::size_t>(weight));
  return stage;
}

// F, B and W of several micro-batches in the judge's order.
Answer train_stage(const Question& question) {
  const auto rows = question.get<std::int64_t>("rows"), channels = question.get<std::int64_t>("channels");
  pipeline::Stage stage = stage_of(question, channels);
  pipeline::Products products;
  std::map<std::int64_t, pipeline::Held> held;
  Answer result;
  Numbers counts;  // four numbers after each task
  const Numbers order = question.numbers<std::int64_t>("order");
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    const std::int64_t micro_batch = order[i + 1];
    const auto given = [&](const char* name) { return matrix_of(question, concat(name, micro_batch), rows, channels); };
    switch (static_cast<Part>(order[i])) {
      case Part::kForward:
        (void)pipeline::forward(stage, given("input"), held[micro_batch], products);
        break;
      case Part::kInputGradient:
        report(result, concat("d_input", micro_batch),
               pipeline::backward_input(stage, held[micro_batch], given("d_output"), products));
        break;
      case Part::kWeightGradients:
        pipeline::backward_weights(stage, held[micro_batch], products);
        break;
    }
    counts.insert(counts.end(), {products.outputs(), products.input_gradients(), products.weight_gradients(),
                                 elements_of(held[micro_batch])});
  }
  result.set_numbers<std::int64_t>("counts", counts);
  for (std::size_t i = 0; i < stage.weights.size(); ++i) report(result, concat("sum", i), stage.weights[i].gradient);
  return result;
}

Answer lists(const Question& question) {
  const auto schedule = pipeline::split_schedule(question.get<int>("ranks"), question.get<int>("micro_batches"));
  std::vector<std::int32_t> rows;  // rank, part, micro-batch
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    for (const auto& [part, micro_batch] : schedule[rank])
      rows.insert(rows.end(), {static_cast<int>(rank), static_cast<int>(part), micro_batch});
  Answer result;
  result.set("ranks", static_cast<std::int64_t>(schedule.size()));
  result.set_numbers<std::int32_t>("tasks", rows);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  return question.get<std::string>("what") == "stage" ? train_stage(question) : lists(question);
}

}  // namespace lockstep::exercise
