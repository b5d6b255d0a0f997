#include "exercise/subject.hpp"

#include "04_kernels/1_axpy/axpy.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("y"), added = question.numbers<float>("x");
  ladders::DeviceArray<float> y{std::span(values)};
  const ladders::DeviceArray<float> x{std::span(added)};
  const auto count = static_cast<int>(values.size());
  const auto a = static_cast<float>(question.get<double>("a"));
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) { kernels::axpy(y.data(), a, x.data(), count, stream); };
  run_and_count_kernels(result, enqueue, {.may_be_none = count == 0});
  result.set_numbers<float>("y", y.to_host());
  return result;
}

}  // namespace lockstep::exercise
