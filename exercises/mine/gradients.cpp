#include "mine/gradients.hpp"

#include <vector>

#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"
#include "06_gpt_ddp/4_buckets/buckets.hpp"
#include "mine/group_collectives.hpp"

namespace lockstep::mine {
namespace {

std::vector<float> zeros_for(const nn::NamedParameter& parameter) {
  return std::vector<float>(static_cast<std::size_t>(parameter.parameter.value().count()));
}

}  // namespace

void average_flattened(const nn::Module& model, comm::ProcessGroup& group) {
  GroupCollectives collectives(group);
  std::vector<nn::NamedParameter> parameters = model.named_parameters();
  std::vector<std::vector<float>> missing;  // where the mean of the others goes
  std::vector<ddp::Gradient> gradients;
  missing.reserve(parameters.size());
  for (nn::NamedParameter& parameter : parameters) {
    const bool has_gradient = parameter.parameter.has_gradient();
    if (!has_gradient) missing.push_back(zeros_for(parameter));
    gradients.push_back(
        {has_gradient ? parameter.parameter.gradient().span<float>() : std::span(missing.back()), has_gradient});
  }
  ddp::average_gradients(gradients, collectives);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (gradients[i].has_gradient && !parameters[i].parameter.has_gradient())
      parameters[i].parameter.accumulate_gradient(
          Tensor::from(std::span<const float>(gradients[i].values), parameters[i].parameter.value().shape()));
}

void average_in_buckets(const nn::Module& model, comm::ProcessGroup& group) {
  GroupCollectives collectives(group);
  std::vector<std::span<float>> gradients;
  std::vector<std::int64_t> counts;
  for (const nn::NamedParameter& parameter : model.named_parameters()) {
    gradients.push_back(parameter.parameter.gradient().span<float>());
    counts.push_back(static_cast<std::int64_t>(gradients.back().size()));
  }
  ddp::average_in_buckets(gradients, ddp::lay_out_buckets(counts, {}), collectives);
}

}  // namespace lockstep::mine
