#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/8_out_of_memory/out_of_memory.hpp"

namespace lockstep::exercise {
namespace {

// Adds `value` to each element; if `most` samples do not suffice, only to the first half before it throws.
class LimitedStep final : public ddp::LocalStep {
 public:
  LimitedStep(std::int64_t most, float value, std::size_t count) : most_(most), value_(value), gradient_(count) {}

  void accumulate(std::int64_t micro_batch_size) override {
    attempts.push_back(micro_batch_size);
    const bool fits = micro_batch_size <= most_;
    for (std::size_t i = 0; i < (fits ? gradient_.size() : gradient_.size() / 2); ++i) gradient_[i] += value_;
    if (!fits) throw ddp::OutOfMemory(concat(micro_batch_size, " samples do not fit"));
  }
  [[nodiscard]] std::span<float> gradient() noexcept override { return gradient_; }

  std::vector<std::int64_t> attempts;

 private:
  std::int64_t most_;
  float value_;
  std::vector<float> gradient_;
};

}  // namespace

Answer answer(Question& question) {
  LimitedStep step(question.get<std::int64_t>("most"), static_cast<float>(question.get<double>("value")), 6);
  std::int64_t size = -1;  // it has thrown OutOfMemory
  try {
    size = ddp::step_within_memory(question.get<std::int64_t>("micro_batch_size"), step, question.collectives());
  } catch (const ddp::OutOfMemory&) {
  }
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set("size", size);
  result.set_numbers<std::int64_t>("attempts", step.attempts);
  result.set_numbers<float>("gradient", step.gradient());
  result.set_numbers<std::int64_t>("all_reduces", question.collectives().issued("all_reduce"));
  return result;
}

}  // namespace lockstep::exercise
