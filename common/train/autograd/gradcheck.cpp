#include "autograd/gradcheck.hpp"

#include <cmath>
#include <cstddef>

#include "autograd/primitives.hpp"
#include "base/error.hpp"

namespace lockstep::autograd {
namespace {

// A sum in which each element of `output` has a weight of its own, so that errors of two elements cannot cancel.
Variable weighted_sum(const Variable& output) {
  require(output.dtype() == DType::kFloat64, "gradcheck: the function's output is ", output.dtype(),
          ", and must be float64");
  const Tensor weights = Tensor::empty(output.shape(), DType::kFloat64);
  double weight = 0.5;
  for (double& element : weights.span<double>()) element = weight = std::fmod(weight + 0.618, 1.0) + 0.5;
  return sum(mul(output, Variable(weights)));
}

// An element that is changed and gets its value back, also if the function throws.
class ChangedElement {
 public:
  explicit ChangedElement(double& element) : element_(element), original_(element) {}
  ~ChangedElement() { element_ = original_; }
  ChangedElement(const ChangedElement&) = delete;
  ChangedElement& operator=(const ChangedElement&) = delete;
  void add(double change) { element_ = original_ + change; }

 private:
  double& element_;
  double original_;
};

}  // namespace

void gradcheck(const std::function<Variable(std::span<const Variable>)>& function, const std::vector<Variable>& inputs,
               const GradcheckOptions& options) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require(inputs[i].is_parameter() && inputs[i].dtype() == DType::kFloat64 && inputs[i].device().is_cpu(),
            "gradcheck: input ", i, " is not a float64 parameter in host memory; make it with Variable::parameter()");
    require(inputs[i].requires_grad(), "gradcheck: input ", i, " (\"", inputs[i].name(),
            "\") is frozen, so backward() leaves it out; call set_requires_grad(true)");
    inputs[i].zero_grad();
  }
  weighted_sum(function(inputs)).backward();
  const NoGradGuard no_grad;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_used = inputs[i].has_gradient();
    for (std::int64_t k = 0; k < inputs[i].value().count(); ++k) {
      ChangedElement element(inputs[i].value().span<double>()[static_cast<std::size_t>(k)]);
      element.add(options.eps);
      const double above = weighted_sum(function(inputs)).value().item();
      element.add(-options.eps);
      const double below = weighted_sum(function(inputs)).value().item();
      const double slope = (above - below) / (2 * options.eps);
      require(std::isfinite(slope), "gradcheck: the slope of element ", k, " of input ", i, " (\"", inputs[i].name(),
              "\") is ", slope, "; choose inputs around which the function is finite");
      const double gradient = is_used ? inputs[i].gradient().span<double>()[static_cast<std::size_t>(k)] : 0;
      require(std::abs(gradient - slope) <= options.atol + options.rtol * std::abs(slope), "gradcheck: element ", k,
              " of input ", i, " (\"", inputs[i].name(), "\"): backward() gives ", gradient, ", the slope is ", slope);
    }
  }
  for (const Variable& input : inputs) input.zero_grad();  // not earlier: one may come twice
}

}  // namespace lockstep::autograd
