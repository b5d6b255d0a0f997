#pragma once
/// @file
/// Checks the gradients of an operation, for writers of operations.
#include <functional>
#include <span>
#include <vector>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// PyTorch's names and defaults. A gradient may differ from the slope by atol + rtol * |slope|.
struct GradcheckOptions {
  double eps = 1e-6;  ///< Added to an element, and subtracted from it, to measure the slope.
  double atol = 1e-5;
  double rtol = 1e-3;
};

/// Compares the gradients that backward() computes with central differences, element by element, as
/// torch.autograd.gradcheck:
/// ```cpp
/// const Variable x = Variable::parameter(values, "x");  // float64
/// gradcheck([](std::span<const Variable> inputs) { return softplus(inputs[0]); }, {x});
/// ```
/// @param function  Of `inputs`, and perhaps of other data. Must compute the same on every call. Its output has any
///                  shape, and is float64 in host memory.
/// @param inputs    Parameters, float64 in host memory and not frozen; or those of a layer that `function` calls. One
///                  may come twice. Their gradients are cleared.
/// @throws ContractError  A gradient is wrong: names input and element, and says both numbers. Or an input is no such
///                        parameter; or a slope is infinite or NaN.
/// Passes on what `function` throws; the inputs then have their elements back.
/// @cost  Two calls of `function` for each element of the inputs.
void gradcheck(const std::function<Variable(std::span<const Variable>)>& function, const std::vector<Variable>& inputs,
               const GradcheckOptions& options = {});

}  // namespace lockstep::autograd
