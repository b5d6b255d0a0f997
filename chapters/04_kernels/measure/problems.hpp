#pragma once
/// @file
/// Makes the problem of each ladder; sizes as LadderEntry::sizes says.
#include "04_kernels/measure/problem.hpp"

namespace lockstep::ladders {

[[nodiscard]] std::unique_ptr<Problem> make_reduction(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_matrix_product(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_tensor_cores(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_softmax(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_transpose(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_layer_norm(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_adamw(std::span<const int> sizes, const Registry& registry);
[[nodiscard]] std::unique_ptr<Problem> make_flash_attention(std::span<const int> sizes, const Registry& registry);

}  // namespace lockstep::ladders
