#include "exercise/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "05_gpt_single_device/2_scalar_tape/scalar_tape.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"derivatives_at_once",
     "local derivatives are computed in the forward pass, that of tanh by cosh, and a relu that is 0 records a "
     "function that does nothing"},
    {"skips_zeros", "nodes with a gradient of 0 are not visited, and only what the loss can depend on is set to 0"},
    {"whole_tape", "the walk begins at the end of the tape, where the gradients behind the loss are 0"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::autograd {

using exercise::is_alternative;

Scalar add(Scalar a, Scalar b) {
  return a.tape().record(a.value() + b.value(), [a, b](double gradient) {
    a.accumulate_gradient(gradient);
    b.accumulate_gradient(gradient);
  });
}

void Scalar::accumulate_gradient(double contribution) const { tape_->nodes().at(index_).gradient += contribution; }

Scalar multiply(Scalar a, Scalar b) {
  if (is_alternative("derivatives_at_once"))
    return a.tape().record(a.value() * b.value(), [a, b, by_a = b.value(), by_b = a.value()](double gradient) {
      b.accumulate_gradient(by_b * gradient);
      a.accumulate_gradient(by_a * gradient);
    });
  return a.tape().record(a.value() * b.value(), [a, b](double gradient) {
    a.accumulate_gradient(gradient * b.value());
    b.accumulate_gradient(gradient * a.value());
  });
}

Scalar tanh(Scalar x) {
  const double result = std::tanh(x.value());
  double derivative = (1 - result) * (1 + result);
  if (is_alternative("derivatives_at_once")) derivative = std::pow(std::cosh(x.value()), -2);
  return x.tape().record(result, [x, derivative](double gradient) { x.accumulate_gradient(gradient * derivative); });
}

Scalar relu(Scalar x) {
  if (!is_alternative("derivatives_at_once"))
    return x.tape().record(std::max(x.value(), 0.0),
                           [x](double gradient) { x.accumulate_gradient(x.value() > 0 ? gradient : 0); });
  if (x.value() > 0) return x.tape().record(x.value(), [x](double gradient) { x.accumulate_gradient(gradient); });
  return x.tape().record(0, [](double) {});
}

void ScalarTape::backward(Scalar loss) {
  const bool is_whole = is_alternative("whole_tape");
  const auto end = static_cast<std::ptrdiff_t>(is_whole ? nodes_.size() : loss.index() + 1);
  for (auto node = nodes_.begin(); node != nodes_.begin() + end; ++node)
    if (node->backward) node->gradient = 0;
  loss.accumulate_gradient(1);
  for (auto node = nodes_.begin() + end; node != nodes_.begin();) {
    --node;
    if (!node->backward || (is_alternative("skips_zeros") && node->gradient == 0)) continue;
    node->backward(node->gradient);
  }
}

}  // namespace lockstep::autograd
