#include "exercise/subject.hpp"

#include "04_kernels/7_flash_attention/flash_attention.hpp"
#include "04_kernels/measure/device_array.hpp"
#include "exercise/kernel_trial.hpp"

namespace lockstep::exercise {

Answer answer(Question& question) {
  const std::vector<float> queries = question.numbers<float>("q"), keys = question.numbers<float>("k"),
                           values = question.numbers<float>("v");
  const ladders::DeviceArray<float> q{std::span(queries)}, k{std::span(keys)}, v{std::span(values)};
  ladders::DeviceArray<float> out(queries.size());
  out.poison();
  const int heads = question.get<int>("heads");
  const int positions = static_cast<int>(queries.size()) / kernels::kHeadWidth / heads;
  Answer result;
  const auto enqueue = [&](cudaStream_t stream) {
    kernels::flash_attention(out.data(), q.data(), k.data(), v.data(), heads, positions, stream);
  };
  if (question.get<bool>("is_counted")) {
    run_and_count_kernels(result, enqueue);
  } else {
    run_kernels(enqueue);
  }
  result.set_numbers<float>("out", out.to_host());
  return result;
}

}  // namespace lockstep::exercise
