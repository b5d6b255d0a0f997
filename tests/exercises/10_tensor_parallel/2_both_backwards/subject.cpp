#include "exercise/subject.hpp"

#include <memory>

#include "../../never_awaited.hpp"
#include "10_tensor_parallel/2_both_backwards/both_backwards.hpp"
#include "autograd/functions.hpp"
#include "base/text.hpp"

namespace lockstep::exercise {
namespace {

using autograd::Variable;
using Numbers = std::vector<std::int64_t>;

Tensor tensor_of(const Question& question, const std::string& name, const Shape& shape) {
  return Tensor::from<float>(question.numbers<float>(name), shape);
}

void report(Answer& answer, const std::string& name, const Tensor& tensor) {
  answer.set_numbers<float>(name, tensor.span<float>());
}

// A parameter without a gradient has no elements in the answer.
void report_gradient(Answer& answer, const std::string& name, const Variable& parameter) {
  if (parameter.has_gradient()) {
    report(answer, name, parameter.gradient());
  } else {
    answer.set_numbers<float>(name, {});
  }
}

// Cut MLPs with residual connections, one after the other, and backward from a given gradient.
void train_blocks(Question& question, Collectives& group, Answer& result) {
  const auto rows = question.get<std::int64_t>("rows"), channels = question.get<std::int64_t>("channels"),
             hidden = question.get<std::int64_t>("hidden");  // of this rank
  const Variable input = Variable::parameter(tensor_of(question, "input", {rows, channels}), "input");
  std::vector<Variable> wide, narrow;
  Variable stream = input;
  bool keeps_terms = false;
  const auto blocks = question.get<int>("blocks");
  for (int block = 0; block < blocks; ++block) {
    wide.push_back(Variable::parameter(tensor_of(question, concat("wide", block), {channels, hidden}), "wide"));
    narrow.push_back(Variable::parameter(tensor_of(question, concat("narrow", block), {hidden, channels}), "narrow"));
    const Variable copied = tensor_parallel::copy_to_ranks(stream, group);
    Variable partial = conv1d(autograd::relu(conv1d(copied, wide.back(), {})), narrow.back(), {});
    const std::weak_ptr<Storage> terms = partial.value().storage();
    const Variable sum = tensor_parallel::sum_over_ranks(partial, group);
    partial = {};
    keeps_terms = keeps_terms || !terms.expired();
    stream = autograd::add(stream, sum);
  }
  report(result, "output", stream.value());
  result.set("keeps_terms", keeps_terms);
  if (stream.requires_grad()) autograd::backward_from({{stream, tensor_of(question, "gradient", {rows, channels})}});
  report_gradient(result, "d_input", input);
  for (std::size_t block = 0; block < wide.size(); ++block) {
    report_gradient(result, concat("d_wide", block), wide[block]);
    report_gradient(result, concat("d_narrow", block), narrow[block]);
  }
  report(result, "input", input.value());
}

// Tensors that others hold too: nothing but the result may change.
void train_shared(Question& question, Collectives& group, Answer& result) {
  const auto count = question.get<std::int64_t>("count");
  const Variable copied = Variable::parameter(tensor_of(question, "copied", {count}), "copied");
  const Variable neighbour = Variable::parameter(tensor_of(question, "neighbour", {count}), "neighbour");
  const Variable term = Variable::parameter(tensor_of(question, "term", {count}), "term");
  // The gradient of a sum goes to both terms, in the same memory.
  const Variable beside = autograd::relu(neighbour);
  const Variable left = autograd::add(tensor_parallel::copy_to_ranks(copied, group), beside);
  if (left.requires_grad()) autograd::backward_from({{left, tensor_of(question, "left_gradient", {count})}});
  report_gradient(result, "d_copied", copied);
  report_gradient(result, "d_neighbour", neighbour);

  const Variable positive = autograd::relu(term);
  const Variable sum = tensor_parallel::sum_over_ranks(positive, group);
  report(result, "sum", sum.value());
  report(result, "after", positive.value());
  if (sum.requires_grad()) autograd::backward_from({{sum, tensor_of(question, "right_gradient", {count})}});
  report_gradient(result, "d_term", term);
}

// Parameters with the given gradients; one of them is frozen.
void sum_gradients(Question& question, Collectives& group, Answer& result) {
  const Numbers counts = question.numbers<std::int64_t>("counts");
  const auto frozen = question.get<std::int64_t>("frozen");
  std::vector<Variable> parameters;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Variable parameter =
        Variable::parameter(tensor_of(question, concat("value", i), {counts[i]}), concat("norm.", i));
    if (static_cast<std::int64_t>(i) == frozen) {
      parameter.set_requires_grad(false);
    } else {
      parameter.accumulate_gradient(tensor_of(question, concat("gradient", i), {counts[i]}));
    }
    parameters.push_back(parameter);
  }
  tensor_parallel::sum_partial_gradients(parameters, group);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    report(result, concat("value", i), parameters[i].value());
    report_gradient(result, concat("gradient", i), parameters[i]);
  }
}

}  // namespace

Answer answer(Question& question) {
  LinkCollectives& group = question.collectives();
  Answer result;
  const auto kind = question.get<std::string>("kind");
  if (kind == "blocks") train_blocks(question, group, result);
  if (kind == "shared") train_shared(question, group, result);
  if (kind == "partial") sum_gradients(question, group, result);
  result.set(kNeverAwaited, never_awaited(group));
  result.set_numbers<std::int64_t>("all_reduces", group.issued("all_reduce"));
  result.set("others",
             static_cast<std::int64_t>(group.issued("broadcast").size() + group.issued("gather_rows").size()));
  return result;
}

}  // namespace lockstep::exercise
