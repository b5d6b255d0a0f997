#include "exercise/subject.hpp"

#include "04_kernels/5_histogram/histogram.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<std::uint8_t> text = question.numbers<std::uint8_t>("bytes");
  const ladders::DeviceArray<std::uint8_t> bytes{std::span(text)};
  ladders::DeviceArray<unsigned> counts(256);
  counts.poison();
  const int count = static_cast<int>(text.size()), blocks = question.get<int>("blocks");
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) {
    kernels::histogram(counts.data(), bytes.data(), count, blocks, stream);
  };
  // Only with plenty of bytes must each block have work.
  const bool is_long = count >= 2048 * blocks;
  const auto most = static_cast<unsigned>(blocks);
  const LaunchShape shape{.fewest_blocks = is_long ? most : 1, .most_blocks = most, .may_be_none = count == 0};
  run_and_count_kernels(result, enqueue, shape);
  const std::vector<unsigned> counted = counts.to_host();
  const std::vector<std::int64_t> values(counted.begin(), counted.end());
  result.set_numbers<std::int64_t>("counts_of_values", values);
  return result;
}

}  // namespace lockstep::exercise
