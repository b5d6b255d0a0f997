#include "exercise/subject.hpp"

#include "04_kernels/4_transpose/transpose.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("in");
  const int rows = question.get<int>("rows"), columns = static_cast<int>(values.size()) / rows;
  const ladders::DeviceArray<float> in{std::span(values)};
  ladders::DeviceArray<float> out(values.size());
  out.poison();
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) { kernels::transpose(out.data(), in.data(), rows, columns, stream); };
  if (question.get<bool>("is_counted")) {
    run_and_count_kernels(result, enqueue);
  } else {
    run_kernels(enqueue);
  }
  result.set_numbers<float>("out", out.to_host());
  return result;
}

}  // namespace lockstep::exercise
