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
  // TODO(05.2): one more contribution to the gradient of tape_->nodes()[index_]
  lockstep::todo("05.2 accumulate_gradient");
}

Scalar multiply(Scalar a, Scalar b) {
  // TODO(05.2): as add() does, record the product and what its gradient means for a and b
  lockstep::todo("05.2 multiply");
}

Scalar tanh(Scalar x) {
  // TODO(05.2): the derivative needs the result, which the backward function may keep
  lockstep::todo("05.2 tanh");
}

Scalar relu(Scalar x) {
  // TODO(05.2): the gradient passes if x is positive
  lockstep::todo("05.2 relu");
}

void ScalarTape::backward(Scalar loss) {
  // TODO(05.2): forget what an earlier call left in computed numbers, then walk from the loss to the start
  lockstep::todo("05.2 backward");
}

}  // namespace lockstep::autograd
