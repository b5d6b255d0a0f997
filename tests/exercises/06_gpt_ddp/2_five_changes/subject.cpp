#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/2_five_changes/five_changes.hpp"

namespace lockstep::exercise {
namespace {

class RecordedOutput final : public ddp::Output {
 public:
  void print(int step, float loss) override {
    steps.push_back(step);
    losses.push_back(loss);
  }
  void save(std::span<const float> parameters) override {
    ++saves;
    saved.assign(parameters.begin(), parameters.end());
  }

  std::vector<std::int64_t> steps;
  std::vector<float> losses, saved;
  int saves = 0;
};

}  // namespace

Answer answer(Question& question) {
  const ddp::Dataset data{.sample_count = question.get<std::int64_t>("sample_count"),
                          .feature_count = question.get<std::int64_t>("feature_count"),
                          .features = question.numbers<float>("features"),
                          .targets = question.numbers<float>("targets")};
  const ddp::TrainOptions options{.initial_parameters = question.numbers<float>("initial_parameters"),
                                  .batch_size = question.get<std::int64_t>("batch_size"),
                                  .epochs = question.get<int>("epochs"),
                                  .seed = question.get<std::uint64_t>("seed"),
                                  .learning_rate = static_cast<float>(question.get<double>("learning_rate"))};
  RecordedOutput output;
  const std::vector<float> parameters = ddp::train(data, options, question.collectives(), output);
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set_numbers<float>("parameters", parameters);
  result.set_numbers<std::int64_t>("steps", output.steps);
  result.set_numbers<float>("losses", output.losses);
  result.set_numbers<float>("saved", output.saved);
  result.set("saves", output.saves);
  return result;
}

}  // namespace lockstep::exercise
