#pragma once
/// @file
/// Two loss curves drawn with characters.
#include <string>
#include <vector>

namespace lockstep::exercise {

/// 14 lines of at most 80 columns: loss upwards, steps to the right; 'o' is ours, 'y' yours, '*' both.
/// @param ours, yours  A loss per step, from step 1; neither is empty. A shorter curve ends earlier in the chart.
[[nodiscard]] std::string loss_chart(const std::vector<double>& ours, const std::vector<double>& yours);

}  // namespace lockstep::exercise
