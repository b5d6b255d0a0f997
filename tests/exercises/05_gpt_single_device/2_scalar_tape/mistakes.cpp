#include <cmath>

#include "05_gpt_single_device/2_scalar_tape/scalar_tape.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"overwrites", "a contribution replaces the gradient instead of being added to it",
     "A number that is used twice gets two contributions. What must be left of the first?"},
    {"own_factor", "each factor of a product gets the gradient times itself, not times the other factor",
     "How much does a * b change when a grows by 1?"},
    {"no_chain_rule", "tanh contributes its own derivative without the gradient that arrives",
     "By the chain rule both are multiplied."},
    {"derivative_of_input", "tanh uses its input where its result belongs: 1 - x * x",
     "The derivative is 1 - tanh(x)^2: let the backward function keep the result."},
    {"relu_passes_all", "relu passes the gradient on for negative inputs too",
     "Where x is negative, the result is 0 whatever x is."},
    {"walks_forwards", "backward() visits the nodes in the order in which they were computed",
     "When a node is visited its gradient must be complete: its uses come after it on the tape."},
    {"visits_at_once", "a contribution starts the node's backward function before the others have arrived",
     "Let accumulate_gradient() only add. backward() decides when a node's turn has come."},
    {"keeps_old_gradients", "a second backward() begins with gradients of computed numbers from the first",
     "Which nodes have a backward function? Set their gradients to 0 before the walk."},
    {"clears_parameters", "backward() also sets the gradients of parameters to 0, so only the last loss counts",
     "Gradients of parameters add up over several losses: leave nodes without a backward function alone."},
    {"clears_on_the_way", "the gradient of a computed number is set to 0 after its backward function has run",
     "gradient() is to give it back after the walk: clear the computed numbers at the beginning of the next one."},
    {"from_the_end", "the gradient 1 is given to the last number of the tape, which need not be the loss",
     "Where does `loss` stand on the tape? What comes after it does not matter."},
    {"walks_what_it_has_not_cleared",
     "gradients are cleared up to the loss, but the walk begins at the tape's end, where an earlier backward() has "
     "left some",
     "Clear all computed numbers, or begin the walk at the loss: what comes after it does not matter."},
    {"loss_keeps_its_gradient",
     "the loss's own gradient is not cleared, so that a second backward() from it begins with 2",
     "The loss is a computed number like the others: clear it, too, or set its gradient to 1."},
    {"calls_parameters", "backward() calls the backward function of a parameter, which is empty",
     "A parameter has no inputs: leave out the nodes whose `backward` is empty."},
    {"relu_at_zero", "relu passes the gradient on for x = 0 too", "The header says what its derivative is for 0."},
    {"tanh_not_squared", "the derivative of tanh is taken to be 1 - tanh(x)",
     "It is 1 - tanh(x)^2: nearly 1 for a small x of either sign."},
    {"product_without_gradient", "a factor of a product gets the other factor alone",
     "By the chain rule it is multiplied by the gradient of the product, which is 1 for the loss only."},
    {"one_factor_only", "only the first factor of a product gets a contribution",
     "Both factors are inputs: each needs a call of accumulate_gradient()."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::autograd {

using exercise::is_mistake;

Scalar add(Scalar a, Scalar b) {
  return a.tape().record(a.value() + b.value(), [a, b](double gradient) {
    a.accumulate_gradient(gradient);
    b.accumulate_gradient(gradient);
  });
}

void Scalar::accumulate_gradient(double contribution) const {
  ScalarNode& node = tape_->nodes()[index_];
  node.gradient = is_mistake("overwrites") ? contribution : node.gradient + contribution;
  if (is_mistake("visits_at_once") && node.backward) node.backward(node.gradient);
}

Scalar multiply(Scalar a, Scalar b) {
  const bool is_swapped = is_mistake("own_factor");
  return a.tape().record(a.value() * b.value(), [a, b, is_swapped](double gradient) {
    const double arrived = is_mistake("product_without_gradient") ? 1 : gradient;
    a.accumulate_gradient(arrived * (is_swapped ? a : b).value());
    if (!is_mistake("one_factor_only")) b.accumulate_gradient(arrived * (is_swapped ? b : a).value());
  });
}

Scalar tanh(Scalar x) {
  const double result = std::tanh(x.value());
  return x.tape().record(result, [x, result](double gradient) {
    const double kept = is_mistake("derivative_of_input") ? x.value() : result;
    x.accumulate_gradient((is_mistake("no_chain_rule") ? 1 : gradient) *
                          (1 - (is_mistake("tanh_not_squared") ? kept : kept * kept)));
  });
}

Scalar relu(Scalar x) {
  const bool passes = x.value() > 0 || is_mistake("relu_passes_all") || (x.value() == 0 && is_mistake("relu_at_zero"));
  return x.tape().record(std::max(x.value(), 0.0),
                         [x, passes](double gradient) { x.accumulate_gradient(passes ? gradient : 0); });
}

void ScalarTape::backward(Scalar loss) {
  if (is_mistake("walks_what_it_has_not_cleared")) {
    for (std::size_t k = 0; k <= loss.index(); ++k)
      if (nodes_[k].backward) nodes_[k].gradient = 0;
    loss.accumulate_gradient(1);
    for (std::size_t k = nodes_.size(); k-- > 0;)
      if (nodes_[k].backward) nodes_[k].backward(nodes_[k].gradient);
    return;
  }
  for (ScalarNode& node : nodes_)
    if (is_mistake("loss_keeps_its_gradient") && &node == &nodes_[loss.index()]) {
      break;
    } else if (node.backward ? !is_mistake("keeps_old_gradients") : is_mistake("clears_parameters"))
      node.gradient = 0;
  const std::size_t start = is_mistake("from_the_end") ? nodes_.size() - 1 : loss.index();
  Scalar(*this, start).accumulate_gradient(1);
  if (is_mistake("visits_at_once")) return;
  for (std::size_t k = 0; k <= start; ++k) {
    ScalarNode& node = nodes_[is_mistake("walks_forwards") ? k : start - k];
    if (!node.backward && !is_mistake("calls_parameters")) continue;
    node.backward(node.gradient);
    if (is_mistake("clears_on_the_way")) node.gradient = 0;
  }
}

}  // namespace lockstep::autograd
