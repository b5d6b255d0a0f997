#include "exercise/subject.hpp"

#include "04_kernels/3_block_sum/block_sum.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("in");
  const int rows = question.get<int>("rows"), threads = question.get<int>("threads");
  const int columns = static_cast<int>(values.size()) / rows;
  const ladders::DeviceArray<float> in{std::span(values)};
  ladders::DeviceArray<float> mean(static_cast<std::size_t>(rows)), variance(static_cast<std::size_t>(rows));
  mean.poison();
  variance.poison();
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) {
    kernels::row_moments(mean.data(), variance.data(), in.data(), rows, columns, threads, stream);
  };
  const LaunchShape shape{.threads = static_cast<unsigned>(threads)};
  if (question.get<bool>("is_counted")) {
    run_and_count_kernels(result, enqueue, shape);
  } else {
    run_kernels(enqueue, shape);
  }
  result.set_numbers<float>("mean", mean.to_host());
  result.set_numbers<float>("variance", variance.to_host());
  return result;
}

}  // namespace lockstep::exercise
