#include "exercise/subject.hpp"

#include "05_gpt_single_device/2_scalar_tape/scalar_tape.hpp"
#include "program.hpp"

namespace lockstep::exercise {
namespace {

using autograd::Scalar;

Scalar compute(ScalarOperation operation, Scalar a, Scalar b) {
  switch (operation) {
    case ScalarOperation::kAdd:
      return add(a, b);
    case ScalarOperation::kMultiply:
      return multiply(a, b);
    case ScalarOperation::kTanh:
      return tanh(a);
    case ScalarOperation::kRelu:
      break;
  }
  return relu(a);
}

}  // namespace

// Computes the numbers, walks back from each loss in turn, and reports all values and the parameters' gradients; with
// "wants_computed", also those of the computed numbers.
Answer answer(Question& question) {
  const std::vector<double> parameters = question.numbers<double>("parameters");
  const std::vector<std::int32_t> operations = question.numbers<std::int32_t>("operations");
  autograd::ScalarTape tape;
  std::vector<Scalar> numbers;
  for (const double value : parameters) numbers.push_back(tape.parameter(value));
  for (std::size_t i = 0; i < operations.size(); i += kNumbersPerOperation)
    numbers.push_back(compute(static_cast<ScalarOperation>(operations[i]),
                              numbers[static_cast<std::size_t>(operations[i + 1])],
                              numbers[static_cast<std::size_t>(operations[i + 2])]));
  for (const std::int32_t loss : question.numbers<std::int32_t>("losses"))
    tape.backward(numbers[static_cast<std::size_t>(loss)]);
  std::vector<double> values, gradients;
  for (const Scalar& number : numbers) values.push_back(number.value());
  for (std::size_t i = 0; i < parameters.size(); ++i) gradients.push_back(numbers[i].gradient());
  Answer result;
  result.set_numbers<double>("values", values);
  result.set_numbers<double>("gradients", gradients);
  if (!question.get<bool>("wants_computed")) return result;
  std::vector<double> computed;
  for (std::size_t i = parameters.size(); i < numbers.size(); ++i) computed.push_back(numbers[i].gradient());
  result.set_numbers<double>("computed", computed);
  return result;
}

}  // namespace lockstep::exercise
