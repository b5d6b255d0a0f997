#include <cmath>

#include "kernels/cpu/map.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels::cpu {

namespace {

bool is_vetoed(const std::int64_t* veto) { return veto != nullptr && *veto != 0; }

void adam_block(float* p, float* m, float* v, const float* gradient, std::int64_t count, const AdamConstants& c) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * c.gradient_scale + c.gradient_decay * p[i];
    const float shrunk = p[i] * c.decay;
    m[i] = m[i] * c.beta1 + c.one_minus_beta1 * g;
    v[i] = v[i] * c.beta2 + c.one_minus_beta2 * g * g;
    const float denominator = std::sqrt(v[i]) / c.correction2_sqrt + c.epsilon;
    p[i] = shrunk - c.step_size * m[i] / denominator;
  }
}

}  // namespace

void sgd_step(Array parameter, Array velocity, ConstArray gradient, const SgdOptions& options, const std::int64_t* veto,
              Context) {
  if (is_vetoed(veto)) return;
  const auto rate = static_cast<float>(options.learning_rate), decay = static_cast<float>(options.weight_decay);
  const auto momentum = static_cast<float>(options.momentum);
  const bool is_nesterov = options.is_nesterov;
  float *const p = parameter.as<float>(), *const speed = velocity.as<float>();
  const float* const from = gradient.as<float>();
  map_blocks(parameter.count(), [=](std::int64_t begin, std::int64_t end) {
    if (speed == nullptr) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) p[i] -= rate * (from[i] + decay * p[i]);
      return;
    }
    if (is_nesterov) {
#pragma GCC ivdep
      for (std::int64_t i = begin; i < end; ++i) {
        const float g = from[i] + decay * p[i];
        speed[i] = momentum * speed[i] + g;
        p[i] -= rate * (g + momentum * speed[i]);
      }
      return;
    }
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      speed[i] = momentum * speed[i] + (from[i] + decay * p[i]);
      p[i] -= rate * speed[i];
    }
  });
}

void adam_step(Array parameter, Array first_moment, Array second_moment, ConstArray gradient,
               const AdamConstants& constants, const std::int64_t* veto, Context) {
  if (is_vetoed(veto)) return;
  map_blocks(parameter.count(), [&](std::int64_t begin, std::int64_t end) {
    adam_block(parameter.as<float>() + begin, first_moment.as<float>() + begin, second_moment.as<float>() + begin,
               gradient.as<float>() + begin, end - begin, constants);
  });
}

}  // namespace lockstep::kernels::cpu
