#include "05_gpt_single_device/2_scalar_tape/scalar_tape.hpp"

#include <cmath>

namespace lockstep::autograd {

Scalar add(Scalar a, Scalar b) {
  return a.tape().record(a.value() + b.value(), [a, b](double gradient) {
    a.accumulate_gradient(gradient);
    b.accumulate_gradient(gradient);
  });
}

void Scalar::accumulate_gradient(double contribution) const {
  // SOLUTION(05.2) accumulate_gradient: one more contribution to the gradient of tape_->nodes()[index_]
  tape_->nodes()[index_].gradient += contribution;
  // END SOLUTION
}

Scalar multiply(Scalar a, Scalar b) {
  // SOLUTION(05.2) multiply: as add() does, record the product and what its gradient means for a and b
  return a.tape().record(a.value() * b.value(), [a, b](double gradient) {
    a.accumulate_gradient(gradient * b.value());
    b.accumulate_gradient(gradient * a.value());
  });
  // END SOLUTION
}

Scalar tanh(Scalar x) {
  // SOLUTION(05.2) tanh: the derivative needs the result, which the backward function may keep
  const double result = std::tanh(x.value());
  return x.tape().record(result,
                         [x, result](double gradient) { x.accumulate_gradient(gradient * (1 - result * result)); });
  // END SOLUTION
}

Scalar relu(Scalar x) {
  // SOLUTION(05.2) relu: the gradient passes if x is positive
  const bool is_positive = x.value() > 0;
  return x.tape().record(is_positive ? x.value() : 0,
                         [x, is_positive](double gradient) { x.accumulate_gradient(is_positive ? gradient : 0); });
  // END SOLUTION
}

void ScalarTape::backward(Scalar loss) {
  // SOLUTION(05.2) backward: forget what an earlier call left in computed numbers, then walk from the loss to the start
  for (ScalarNode& node : nodes_)
    if (node.backward) node.gradient = 0;
  loss.accumulate_gradient(1);
  // A number's uses come after it on the tape, so on the way back its gradient is complete when the walk reaches it.
  for (std::size_t i = loss.index() + 1; i-- > 0;)
    if (nodes_[i].backward) nodes_[i].backward(nodes_[i].gradient);
  // END SOLUTION
}

}  // namespace lockstep::autograd
