#include "exercise/subject.hpp"

#include "05_gpt_single_device/4_causal_attention/causal_attention.hpp"

namespace lockstep::exercise {

// Forward if no gradient of the output is given, else backward, from the judge's own output.
Answer answer(Question& question) {
  const auto size = [&](const char* name) { return static_cast<std::size_t>(question.get<std::int64_t>(name)); };
  const kernels::AttentionShape shape{size("samples"), size("length"), size("channels"), size("heads")};
  const std::vector<float> qkv = question.numbers<float>("qkv");
  const auto fill = static_cast<float>(question.get<double>("fill"));  // to be overwritten
  Answer result;
  if (!question.get<bool>("is_backward")) {
    std::vector<float> out(shape.samples * shape.length * shape.channels, fill);
    std::vector<float> log_sum_exp(shape.samples * shape.heads * shape.length, fill);
    kernels::causal_attention_forward(out, log_sum_exp, qkv, shape);
    result.set_numbers<float>("out", out);
    result.set_numbers<float>("log_sum_exp", log_sum_exp);
  } else {
    std::vector<float> qkv_gradient(qkv.size(), fill);
    kernels::causal_attention_backward(qkv_gradient, question.numbers<float>("out_gradient"),
                                       question.numbers<float>("out"), question.numbers<float>("log_sum_exp"), qkv,
                                       shape);
    result.set_numbers<float>("qkv_gradient", qkv_gradient);
  }
  return result;
}

}  // namespace lockstep::exercise
