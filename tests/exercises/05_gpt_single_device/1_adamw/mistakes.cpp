#include <cmath>

#include "05_gpt_single_device/1_adamw/adamw.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_bias_correction", "the moments are used as they are, without the correction for their start at zero",
     "After the first step the first moment is (1 - beta1) * gradient. By what must you divide it to get the "
     "gradient?"},
    {"counts_from_0", "the bias correction uses a step number that begins at 0, so it divides by 1 - beta^0 = 0",
     "settings.step is 1 in the first step; use it as it is."},
    {"counts_steps_itself", "the function counts its own calls, and does not look at settings.step",
     "A run that is continued does not begin with step 1, and several parameters share a step: use settings.step."},
    {"keeps_corrected_moments", "the corrected moments are stored, so the next step corrects them again",
     "Correct copies; what is stored are the plain running means."},
    {"betas_swapped", "beta1 is used for the second moment, and beta2 for the first",
     "The mean of the gradients forgets faster (beta1 = 0.9) than the mean of their squares (beta2 = 0.999)."},
    {"correction_outside_root", "the root of the second moment is divided by 1 - beta2^t, which belongs under the root",
     "sqrt(v / (1 - beta2^t)): correct the moment first, then take its root."},
    {"epsilon_in_root", "epsilon is added under the square root instead of to the root",
     "The denominator is sqrt(corrected second moment) + epsilon."},
    {"coupled_decay", "the weight decay is added to the gradient, as in Adam with L2 regularization",
     "In AdamW the decay never enters the moments: it acts on the parameter itself."},
    {"decay_after_update", "the parameter shrinks after it has moved, so part of the move decays too",
     "Shrink the parameter first, then subtract the step."},
    {"takes_whole_gradient", "both moments take all of the new gradient instead of a share of 1 - beta",
     "A running mean of equal numbers is that number: the shares beta and 1 - beta add up to 1."},
    {"divides_by_square", "the step is divided by the second moment itself instead of its root",
     "Without the root the quotient has the unit 1 / gradient: small gradients would make large steps."},
    {"decay_without_rate", "the parameter shrinks by weight_decay, not by learning_rate * weight_decay",
     "With the default settings 1 % of every parameter would go in each step, a thousand times too much."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::optim {

using exercise::is_mistake;

void adamw_step(std::span<float> parameter, std::span<float> first_moment, std::span<float> second_moment,
                std::span<const float> gradient, const AdamWSettings& settings) {
  const bool is_corrected = !is_mistake("no_bias_correction");
  static std::int64_t calls = 0;
  ++calls;
  const std::int64_t number = is_mistake("counts_steps_itself") ? calls : settings.step;
  const auto step = static_cast<double>(number - (is_mistake("counts_from_0") ? 1 : 0));
  const double beta1 = is_mistake("betas_swapped") ? settings.beta2 : settings.beta1;
  const double beta2 = is_mistake("betas_swapped") ? settings.beta1 : settings.beta2;
  const double correction1 = is_corrected ? 1 - std::pow(beta1, step) : 1;
  const double correction2 = is_corrected ? 1 - std::pow(beta2, step) : 1;
  const double rate_of_decay = is_mistake("decay_without_rate") ? 1 : settings.learning_rate;
  const double shrink = 1 - rate_of_decay * settings.weight_decay;
  const double root = is_mistake("divides_by_square") ? 1 : 0.5;
  const bool takes_whole = is_mistake("takes_whole_gradient");
  const double share1 = takes_whole ? 1 : 1 - beta1, share2 = takes_whole ? 1 : 1 - beta2;
  const bool is_decoupled = !is_mistake("coupled_decay"), shrinks_last = is_mistake("decay_after_update");
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    const double g = gradient[i] + (is_decoupled ? 0 : settings.weight_decay * parameter[i]);
    const double mean = beta1 * first_moment[i] + share1 * g;
    const double mean_square = beta2 * second_moment[i] + share2 * g * g;
    const double twice = is_mistake("correction_outside_root") ? correction2 : 1;
    const double corrected = mean / correction1, corrected_square = mean_square / correction2 / twice;
    const double denominator = is_mistake("epsilon_in_root") ? std::sqrt(corrected_square + settings.epsilon)
                                                             : std::pow(corrected_square, root) + settings.epsilon;
    double value = parameter[i];
    if (is_decoupled && !shrinks_last) value *= shrink;
    value -= settings.learning_rate * corrected / denominator;
    if (shrinks_last) value *= shrink;
    const bool keeps_corrected = is_mistake("keeps_corrected_moments");
    parameter[i] = static_cast<float>(value);
    first_moment[i] = static_cast<float>(keeps_corrected ? corrected : mean);
    second_moment[i] = static_cast<float>(keeps_corrected ? corrected_square : mean_square);
  }
}

}  // namespace lockstep::optim
