#include "mine/gradients.hpp"

#include <utility>
#include <vector>

#include "06_gpt_ddp/3_naive_ddp/naive_ddp.hpp"
#include "06_gpt_ddp/4_buckets/buckets.hpp"
#include "base/error.hpp"

namespace lockstep::mine {
namespace {

// The collectives of the exercises, over a group of the library.
class GroupCollectives final : public exercise::Collectives {
 public:
  explicit GroupCollectives(comm::ProcessGroup& group) : group_(group) {}

  [[nodiscard]] int rank() const noexcept override { return group_.rank(); }
  [[nodiscard]] int world_size() const noexcept override { return group_.world_size(); }

  [[nodiscard]] exercise::Work all_reduce(std::span<float> values) override {
    return wrapped(group_.all_reduce(comm::host_buffer(values)));
  }
  [[nodiscard]] exercise::Work broadcast(std::span<float> values, int root) override {
    return wrapped(group_.broadcast(comm::host_buffer(values), root));
  }
  [[nodiscard]] std::vector<std::int64_t> gather_rows(std::span<const std::int64_t> row,
                                                      const std::source_location& /*where*/) override {
    std::vector<std::int64_t> own(row.begin(), row.end()), rows(row.size() * static_cast<std::size_t>(world_size()));
    group_.all_gather(comm::host_buffer(std::span(rows)), comm::host_buffer(std::span(own))).synchronize();
    return rows;
  }

 private:
  static exercise::Work wrapped(comm::Work work) {
    return exercise::Work(
        [work = std::move(work)](const std::source_location& /*where*/) mutable { work.synchronize(); });
  }

  comm::ProcessGroup& group_;
};

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
