#include "support/steep_checkpoint.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "checkpoint/checkpoint.hpp"
#include "nn/gpt.hpp"
#include "optim/optimizer.hpp"
#include "run/optimization.hpp"
#include "run/run_folder.hpp"
#include "run/train_options.hpp"

namespace lockstep::test {
namespace {

void scale(const nn::Module& model, std::string_view name, float factor) {
  for (const nn::NamedParameter& named : model.named_parameters()) {
    if (named.name != name) continue;
    for (float& value : named.parameter.value().span<float>()) value *= factor;
    return;
  }
  throw Error(concat("the model has no ", name));
}

// The first block's MLP reads h = 1e30 x through weights multiplied by 1e-30, so its results do not change. The scores,
// and with them the loss, are 1e15 times as steep. The gradient of those weights is h times the incoming gradient:
// about 1e30 * 1e15 times the usual one, while float32 ends at 3e38. No other value or gradient comes near that.
void make_steep(const nn::Module& model) {
  scale(model, "h.0.ln_2.weight", 1e30F);
  scale(model, "h.0.mlp.c_fc.weight", 1e-30F);
  scale(model, "ln_f.weight", 1e15F);
}

}  // namespace

void make_gradient_infinite(const std::filesystem::path& run) {
  const auto options = run::options_from_json(parse_json(read_file(run / "options.json")));
  const nn::Gpt model(options.model.config(options.data.vocabulary_size), options.seed);
  const std::unique_ptr<optim::Optimizer> optimizer = run::make_optimizer(options.optimizer, model);
  checkpoint::Contents contents;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    contents.model.push_back({named.name, named.parameter.value()});
  }
  for (const optim::NamedTensor& named : optimizer->state()) contents.optimizer.push_back({named.name, named.tensor});
  checkpoint::CheckpointFolder checkpoints(run::checkpoints_of(run));
  const nlohmann::json state = checkpoint::load(checkpoints.latest().value(), contents);
  make_steep(model);
  checkpoints.save(state.at("step"), contents, state);
}

}  // namespace lockstep::test
