// Joined loops within joined loops, and ranges that live longer than their loop: what a step counts is that step's.
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "branch_model.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "data/tensor_dataset.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

// `count` samples of one feature and one target.
data::TensorDataset samples_of(std::int64_t count) {
  return {Tensor::zeros({count, 1}), Tensor::zeros({count, 1}, DType::kInt32)};
}

// The mean of a value that is 1 on rank 0 and 0 on rank 1, over the targets, of which rank 0 has `first` and rank 1
// `second`; `inside` runs in the loop before.
double share_of_rank_0(std::int64_t first, std::int64_t second,
                       const std::function<void(ddp::DistributedDataParallel&)>& inside) {
  std::vector<double> shares(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group);
    const std::int64_t count = rank == 0 ? first : second;
    const data::TensorDataset samples = samples_of(count);
    data::SequentialSampler sampler(count);
    data::DataLoader loader(samples, sampler, {.batch_size = 8, .drop_last = false});
    for ([[maybe_unused]] const data::Batch& batch : ddp.join(loader)) {
      inside(ddp);
      shares[rank] = ddp.average(rank == 0 ? 1 : 0);
    }
  });
  CHECK(shares[0] == shares[1]);
  return shares[0];
}

// Loops over two samples of each rank, joined if `is_joined`; leaves after the first if `is_left`.
void run_inner_loop(ddp::DistributedDataParallel& ddp, bool is_joined, bool is_left) {
  const data::TensorDataset samples = samples_of(2);
  data::SequentialSampler sampler(2);
  data::DataLoader loader(samples, sampler, {.batch_size = 1});
  for ([[maybe_unused]] const data::Batch& batch : ddp.join(loader, is_joined)) {
    if (is_left) break;
  }
}

}  // namespace

TEST_CASE("the step around a loop counts as before, once that loop has ended or been left", "[ddp][multirank]") {
  const bool is_joined = GENERATE(true, false), is_left = GENERATE(true, false);
  CHECK(share_of_rank_0(6, 2, [&](auto& ddp) { run_inner_loop(ddp, is_joined, is_left); }) == 0.75);
}

TEST_CASE("in a plain loop within a joined one each rank counts alike", "[ddp][multirank]") {
  (void)share_of_rank_0(6, 2, [&](ddp::DistributedDataParallel& ddp) {
    const data::TensorDataset samples = samples_of(1);
    data::SequentialSampler sampler(1);
    data::DataLoader loader(samples, sampler, {.batch_size = 1});
    for ([[maybe_unused]] const data::Batch& batch : ddp.join(loader, false)) {
      if (ddp.average(4) != 4) throw Error("ranks do not count alike");  // 1.5 * 4 on rank 0 and 0.5 * 4 on rank 1
    }
  });
}

TEST_CASE("a joined range that outlives its loop counts nothing any more, and can be iterated again",
          "[ddp][multirank]") {
  std::vector<std::vector<double>> found(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    BranchModel model;
    ddp::DistributedDataParallel ddp(model, *group);
    const std::int64_t count = rank == 0 ? 3 : 1;
    const data::TensorDataset samples = samples_of(count);
    data::SequentialSampler sampler(count);
    data::DataLoader loader(samples, sampler, {.batch_size = 3, .drop_last = false});
    auto joined = ddp.join(loader);
    for (int epoch = 0; epoch < 2; ++epoch) {
      for ([[maybe_unused]] const data::Batch& batch : joined) found[rank].push_back(ddp.average(rank == 0 ? 1 : 0));
      found[rank].push_back(ddp.average(2));  // the last counts were of a step without samples
    }
  });
  for (const auto& of_rank : found) CHECK(of_rank == std::vector<double>{0.75, 2, 0.75, 2});
}
