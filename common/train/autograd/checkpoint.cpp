#include "autograd/checkpoint.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "autograd/autocast.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"

namespace lockstep::autograd {
namespace {

// An input of a checkpointed function while it is recorded again: its gradient goes to the variable outside.
Variable entry_to(const Variable& outside) {
  if (!outside.requires_grad() || outside.is_parameter()) return outside;
  Variable entry = record(outside.value(), {outside}, [outside = outside.without_value()](Tensor gradient) {
    outside.accumulate_gradient(std::move(gradient));
  });
  entry.node()->inputs.clear();  // the walk over the inside ends here
  return entry;
}

// The data that a checkpointed call keeps until backward.
struct Segment {
  CheckpointedFunction function;
  std::vector<Variable> inputs;
  MixedPrecision precision;
  std::vector<Tensor> gradients;  // of the outputs; undefined if none has arrived

  // Records the inside again and runs it backward from the gradients that have arrived.
  void run_backward() {
    const Autocast autocast(precision);
    const EnableGradGuard enable_grad;
    std::vector<Variable> entries;
    std::transform(inputs.begin(), inputs.end(), std::back_inserter(entries), entry_to);
    std::vector<Variable> outputs = function(entries);
    std::vector<GradientStart> starts;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (gradients[i].is_defined() && outputs[i].requires_grad()) {
        starts.push_back({outputs[i].without_value(), std::move(gradients[i])});
      }
    }
    outputs.clear();
    entries.clear();
    backward_from(std::move(starts));
  }
};

}  // namespace

std::vector<Variable> checkpoint(const CheckpointedFunction& function, std::vector<Variable> inputs) {
  if (!is_grad_enabled()) return function(inputs);
  const auto segment = std::make_shared<Segment>(Segment{function, std::move(inputs), autocast_precision(), {}});
  std::vector<Variable> used = segment->inputs;  // the node of the whole call waits for these
  std::vector<Variable> values;
  {
    const ParameterCollector collector;
    values = function(segment->inputs);
    for (const Variable& parameter : collector.parameters()) {
      const bool is_known =
          std::any_of(used.begin(), used.end(), [&](const Variable& other) { return other.is_same(parameter); });
      if (!is_known) used.push_back(parameter);
    }
  }
  segment->gradients.resize(values.size());

  // Outputs hand their gradients to one shared node, which runs when all have arrived. Its own gradient is a dummy
  // number: it only marks that some gradient has arrived.
  const Variable whole = record(Tensor::zeros({}), used, [segment](const Tensor&) { segment->run_backward(); });
  if (!whole.requires_grad()) return values;
  std::vector<Variable> outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    outputs.push_back(record(values[i].value(), {whole}, [segment, whole, i](Tensor gradient) {
      segment->gradients[i] = std::move(gradient);
      whole.accumulate_gradient(Tensor::zeros({}));
    }));
  }
  return outputs;
}

}  // namespace lockstep::autograd
