// Parameter updates in one pass over memory. Constants come from the host, computed in double precision.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

__device__ bool is_vetoed(const std::int64_t* veto) { return veto != nullptr && *veto != 0; }

/// Traffic: reads 16 and writes 12 bytes an element.
/// @source Kingma and Ba, ICLR 2015, algorithm 1; Loshchilov and Hutter, ICLR 2019, algorithm 2.
struct AdamStep {
  float *parameter, *first_moment, *second_moment;
  const float* gradient;
  AdamConstants c;
  const std::int64_t* veto;

  template <int W>
  __device__ void run(std::int64_t i) const {
    if (is_vetoed(veto)) return;
    Floats<W> p = load<W>(parameter, i), m = load<W>(first_moment, i), v = load<W>(second_moment, i);
    const Floats<W> gradients = load<W>(gradient, i);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float g = gradients.at[k] * c.gradient_scale + c.gradient_decay * p.at[k];
      m.at[k] = m.at[k] * c.beta1 + c.one_minus_beta1 * g;
      v.at[k] = v.at[k] * c.beta2 + c.one_minus_beta2 * g * g;
      const float denominator = sqrtf(v.at[k]) / c.correction2_sqrt + c.epsilon;
      p.at[k] = p.at[k] * c.decay - c.step_size * m.at[k] / denominator;
    }
    store(parameter, i, p);
    store(first_moment, i, m);
    store(second_moment, i, v);
  }
};

/// Traffic: reads 12 and writes 8 bytes an element; without momentum reads 8 and writes 4.
struct SgdStep {
  float *parameter, *velocity;  // velocity is null without momentum
  const float* gradient;
  float rate, momentum, decay;
  bool is_nesterov;
  const std::int64_t* veto;

  template <int W>
  __device__ void run(std::int64_t i) const {
    if (is_vetoed(veto)) return;
    Floats<W> p = load<W>(parameter, i), g = load<W>(gradient, i);
#pragma unroll
    for (int k = 0; k < W; ++k) g.at[k] += decay * p.at[k];
    if (velocity != nullptr) {
      Floats<W> speed = load<W>(velocity, i);
#pragma unroll
      for (int k = 0; k < W; ++k) {
        speed.at[k] = momentum * speed.at[k] + g.at[k];
        g.at[k] = is_nesterov ? g.at[k] + momentum * speed.at[k] : speed.at[k];
      }
      store(velocity, i, speed);
    }
#pragma unroll
    for (int k = 0; k < W; ++k) p.at[k] -= rate * g.at[k];
    store(parameter, i, p);
  }
};

}  // namespace

void adam_step(Array parameter, Array first_moment, Array second_moment, ConstArray gradient,
               const AdamConstants& constants, const std::int64_t* veto, Context context) {
  const AdamStep operation{parameter.as<float>(),
                           first_moment.as<float>(),
                           second_moment.as<float>(),
                           gradient.as<float>(),
                           constants,
                           veto};
  map<float>(operation, parameter.count(),
             are_aligned(parameter.data, first_moment.data, second_moment.data, gradient.data), context.stream);
}

void sgd_step(Array parameter, Array velocity, ConstArray gradient, const SgdOptions& options, const std::int64_t* veto,
              Context context) {
  const SgdStep operation{parameter.as<float>(),
                          velocity.as<float>(),
                          gradient.as<float>(),
                          static_cast<float>(options.learning_rate),
                          static_cast<float>(options.momentum),
                          static_cast<float>(options.weight_decay),
                          options.is_nesterov,
                          veto};
  map<float>(operation, parameter.count(), are_aligned(parameter.data, velocity.data, gradient.data), context.stream);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
