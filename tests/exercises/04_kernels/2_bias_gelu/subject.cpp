#include "exercise/subject.hpp"

#include "04_kernels/2_bias_gelu/bias_gelu.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("in"), biases = question.numbers<float>("bias");
  const ladders::DeviceArray<float> in{std::span(values)}, bias{std::span(biases)};
  ladders::DeviceArray<float> out(values.size());
  out.poison();
  const int columns = static_cast<int>(biases.size()), rows = static_cast<int>(values.size()) / columns;
  const int blocks = question.get<int>("blocks");
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) {
    kernels::bias_gelu(out.data(), in.data(), bias.data(), rows, columns, blocks, stream);
  };
  // Only in a large matrix must each block have work.
  const bool is_large = rows * columns >= 4096 * blocks;
  const auto most = static_cast<unsigned>(blocks);
  const LaunchShape shape{.fewest_blocks = is_large ? most : 1, .most_blocks = most};
  if (question.get<bool>("is_counted")) {
    run_and_count_kernels(result, enqueue, shape);
  } else {
    run_kernels(enqueue, shape);
  }
  result.set_numbers<float>("out", out.to_host());
  return result;
}

}  // namespace lockstep::exercise
