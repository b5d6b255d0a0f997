#include "05_gpt_single_device/perplexity.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/functions.hpp"
#include "base/error.hpp"

namespace lockstep::gpt {
namespace {

// A target with this value is not predicted (PyTorch's ignore_index).
constexpr std::int32_t kIgnored = -100;
// Positions in one forward pass: enough to keep the processor busy, with little memory.
constexpr std::int64_t kPassPositions = 2048;

// A window reads the tokens [begin, end - 1) and predicts [first_target, end): the token after each that it reads.
struct EvaluationWindow {
  std::int64_t begin = 0, end = 0, first_target = 0;
};

std::vector<EvaluationWindow> windows_of(std::int64_t token_count, std::int64_t length, std::int64_t stride) {
  std::vector<EvaluationWindow> windows;
  std::int64_t first_target = 1;  // nothing precedes token 0
  for (std::int64_t begin = 0; first_target < token_count; begin += stride) {
    const std::int64_t end = std::min(begin + length, token_count);
    windows.push_back({begin, end, first_target});
    first_target = end;
  }
  return windows;
}

// The loss of windows of one length, in one pass.
TextLoss loss_of(const nn::Gpt& model, std::span<const std::int32_t> tokens,
                 std::span<const EvaluationWindow> windows) {
  std::vector<std::int32_t> inputs, targets;
  for (const EvaluationWindow& window : windows) {
    for (std::int64_t at = window.begin; at + 1 < window.end; ++at) {
      inputs.push_back(tokens[static_cast<std::size_t>(at)]);
      const bool counts = at + 1 >= window.first_target;
      targets.push_back(counts ? tokens[static_cast<std::size_t>(at + 1)] : kIgnored);
    }
  }
  const auto batch_size = static_cast<std::int64_t>(windows.size());
  const Shape shape{batch_size, static_cast<std::int64_t>(inputs.size()) / batch_size};  // [B, T]
  const Tensor wanted = Tensor::from<std::int32_t>(targets, shape);
  const double mean = model.loss(Tensor::from<std::int32_t>(inputs, shape), wanted).value().item();
  const std::int64_t count = autograd::target_count(wanted);
  return {.sum = mean * static_cast<double>(count), .token_count = count};
}

}  // namespace

double TextLoss::perplexity() const noexcept { return std::exp(mean()); }

TextLoss text_loss(const nn::Gpt& model, std::span<const std::int32_t> tokens, const WindowOptions& options) {
  const std::int64_t context = model.config().context_length;
  const std::int64_t length = options.length == 0 ? context : options.length;
  const std::int64_t stride = options.stride == 0 ? length / 2 : options.stride;
  require(tokens.size() >= 2, "text_loss: ", tokens.size(),
          " tokens: the first has nothing before it, so 2 are needed");
  require(length >= 2 && length <= context, "text_loss: windows of ", length, " tokens, not 2 to ", context);
  require(stride >= 1 && stride < length, "text_loss: a stride of ", stride, " tokens, not 1 to ", length - 1);
  const autograd::NoGradGuard no_grad;
  const std::vector<EvaluationWindow> windows = windows_of(static_cast<std::int64_t>(tokens.size()), length, stride);
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kPassPositions / length));
  TextLoss total;
  for (std::size_t first = 0; first < windows.size();) {
    const auto tokens_in = [&](std::size_t i) { return windows[i].end - windows[i].begin; };
    std::size_t end = first + 1;  // the last window of a text is shorter and has its own pass
    while (end < windows.size() && end - first < most && tokens_in(end) == tokens_in(first)) ++end;
    const TextLoss part = loss_of(model, tokens, std::span(windows).subspan(first, end - first));
    total.sum += part.sum;
    total.token_count += part.token_count;
    first = end;
  }
  return total;
}

}  // namespace lockstep::gpt
