#pragma once
/// @file
/// Parameter updates in one pass over memory. Common rules: kernels/ops.hpp. Formulas and the order of rounding are
/// those of PyTorch's torch.optim (1.13), so that a step agrees to float32 rounding. Functions of spans work in host
/// memory, functions of tensors on the tensors' device.
#include <cstdint>
#include <span>

#include "kernels/optimizer_types.hpp"
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// g = gradient + weight_decay p; velocity = momentum velocity + g; p -= learning_rate velocity (Nesterov's form:
/// p -= learning_rate (g + momentum velocity)).
///
/// @param parameter  [N], in place.
/// @param velocity   [N], in place, zeros before the first step; empty without momentum (then p -= learning_rate g).
/// @param gradient   [N].
void sgd_step(std::span<float> parameter, std::span<float> velocity, std::span<const float> gradient,
              const SgdOptions& options);

/// The same for float32 tensors, [N] each.
/// @param velocity  Undefined without momentum.
/// @param veto      int64, one element, on the same device: any value but 0 prevents the update. The host need not know
///                  it: on a device it is read when the step runs. Undefined: no veto.
void sgd_step(const Tensor& parameter, const Tensor& velocity, const Tensor& gradient, const SgdOptions& options,
              const Tensor& veto = {});

/// One step of Adam or AdamW.
///
/// @param parameter      [N], in place.
/// @param first_moment   [N], in place, zeros before the first step.
/// @param second_moment  [N], in place, zeros before the first step.
/// @param gradient       [N].
/// @cost Reads 16 and writes 12 bytes per element.
/// @source Kingma and Ba, ICLR 2015, algorithm 1; Loshchilov and Hutter, ICLR 2019, algorithm 2.
void adam_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
               std::span<const float> gradient, const AdamOptions& options);

/// The same for float32 tensors, [N] each. @param veto  As sgd_step()'s.
void adam_step(const Tensor& parameter, const Tensor& first_moment, const Tensor& second_moment, const Tensor& gradient,
               const AdamOptions& options, const Tensor& veto = {});

/// The sum of squares in double precision; does not depend on the number of threads.
[[nodiscard]] double squared_norm(std::span<const float> values);

/// The same over all elements of float32 tensors on one device, tensor by tensor; blocks the host for the result.
[[nodiscard]] double squared_norm(std::span<const Tensor> tensors);

/// values[i] *= factor.
void scale(std::span<float> values, double factor);

[[nodiscard]] bool is_finite(std::span<const float> values);

/// The same for a float32 tensor; blocks the host for the result.
[[nodiscard]] bool is_finite(const Tensor& values);

/// Counts the elements that are NaN or infinite: adds their number to `total`, and the number in part k to by_part[k].
/// On a device the host does not wait.
/// @param total    int64, one element.
/// @param by_part  int64 [K].
/// @param values   float32 [N].
/// @param ends     int64 [K], ascending: part k has the elements before ends[k] that are in no earlier part.
void count_non_finite_by_part(const Tensor& total, const Tensor& by_part, const Tensor& values, const Tensor& ends);

}  // namespace lockstep::kernels
