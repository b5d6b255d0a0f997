// The loops of a step, for a wrapper that is not DistributedDataParallel.
#include "06_gpt_ddp/ddp/step_protocol.hpp"

#include <optional>
#include <string>
#include <vector>

#include "branch_model.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "data/tensor_dataset.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// Exchanges nothing; notes what the loops ask of it.
class Noting final : public ddp::StepProtocol {
 public:
  explicit Noting(comm::ProcessGroup& group) : StepProtocol(group) {}
  void contribute_nothing() override { notes += "nothing "; }
  void note_backward() { notes += is_last_part() ? "last " : "part "; }
  [[nodiscard]] double weight() { return targets().weight(); }

  std::string notes;

 private:
  void begin_step(std::optional<std::int64_t> step) override {
    notes += step ? "step" + std::to_string(*step) + " " : "step ";
  }
};

}  // namespace

TEST_CASE("of a step's micro-batches any wrapper exchanges the last one only", "[ddp]") {
  const Group group = make_group(comm::JobContext());
  Noting noting(*group);
  const std::vector<Part> parts(3, Part{.features = {}, .targets = {}, .context = {.step = 7}, .weight = 1});
  for ([[maybe_unused]] const Part& part : noting.accumulate(parts)) noting.note_backward();
  CHECK(noting.notes == "step7 part part last ");
  noting.notes.clear();
  const std::vector<int> plain{1, 2};
  for ([[maybe_unused]] const int part : noting.accumulate(plain)) {
    const auto quiet = noting.no_sync();
    noting.note_backward();
  }
  noting.note_backward();
  CHECK(noting.notes == "step part part last ");
}

TEST_CASE("any wrapper has its ranks take part until none has data, each target counted once", "[ddp][multirank]") {
  std::vector<std::string> notes(2);
  std::vector<double> means(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    Noting noting(*group);
    const std::int64_t count = rank == 0 ? 3 : 1;  // samples of one target
    const data::TensorDataset samples(Tensor::zeros({count, 1}), Tensor::zeros({count, 1}, DType::kInt32));
    data::SequentialSampler sampler(count);
    data::DataLoader loader(samples, sampler, {.batch_size = 2, .drop_last = false});
    for (const data::Batch& batch : noting.join(loader)) {
      const std::vector<int> parts(batch.size() > 0 ? 1 : 0);
      for ([[maybe_unused]] const int part : noting.accumulate(parts)) noting.note_backward();
      if (batch.size() == 2 || rank == 1) noting.notes += std::to_string(noting.weight()) + " ";
      means[rank] += noting.average(rank == 0 ? 1 : 4);
    }
    notes[rank] = noting.notes;
  });
  // Two targets and one, then one and none.
  CHECK(notes[0] == "step last 1.333333 step last ");
  CHECK(notes[1] == "step last 0.666667 step nothing 0.000000 ");
  for (const double mean : means) CHECK(mean == Approx(2.0 + 1.0));
}
