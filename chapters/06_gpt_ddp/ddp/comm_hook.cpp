#include "06_gpt_ddp/ddp/comm_hook.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/bfloat16.hpp"
#include "base/text.hpp"
#include "device/stream.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::ddp {
namespace {

// Turns the bfloat16 sums over all ranks into float32 averages.
class CompressedWork final : public comm::WorkState {
 public:
  CompressedWork(comm::Work sum, Tensor compressed, Tensor gradients, int world_size)
      : sum_(std::move(sum)),
        compressed_(std::move(compressed)),
        gradients_(std::move(gradients)),
        scale_(1.0F / static_cast<float>(world_size)) {}

  void wait(Stream& stream) override {
    if (gradients_.device().is_cpu()) return synchronize();
    sum_.wait(stream);
    const StreamGuard guard(stream);
    expand();
  }

  void synchronize() override {
    sum_.synchronize();
    expand();
  }

  [[nodiscard]] bool is_completed() const override { return sum_.is_completed(); }

 private:
  void expand() {
    if (std::exchange(is_expanded_, true)) return;
    if (!gradients_.device().is_cpu()) {
      kernels::cast(gradients_, compressed_);
      return kernels::scale(gradients_, scale_);
    }
    std::ranges::transform(compressed_.span<BFloat16>(), gradients_.span<float>().begin(),
                           [scale = scale_](BFloat16 value) { return to_float(value) * scale; });
  }

  comm::Work sum_;
  Tensor compressed_, gradients_;
  float scale_;
  bool is_expanded_ = false;
};

// Memory that the group sends without copies, reused in every step. All ranks allocate it in the same order.
Tensor compressed_memory(std::map<std::size_t, Tensor>& kept, comm::ProcessGroup& group, const Bucket& bucket) {
  Tensor& compressed = kept[bucket.index];
  const std::int64_t count = bucket.gradients.count();
  if (compressed.count() != count) {
    const auto storage = group.allocate(static_cast<std::size_t>(count) * sizeof(BFloat16), bucket.gradients.device());
    compressed = Tensor::view_of(storage, 0, {count}, DType::kBFloat16);
  }
  return compressed;
}

std::string name_of(const Bucket& bucket) { return concat("bucket ", bucket.index); }

}  // namespace

comm::Work all_reduce_hook(comm::ProcessGroup& group, const Bucket& bucket) {
  return group.all_reduce(as_buffer(bucket.gradients), comm::ReduceOp::kMean, {.tag = name_of(bucket)});
}

CommHook bf16_compress_hook() {
  const auto kept = std::make_shared<std::map<std::size_t, Tensor>>();
  return [kept](comm::ProcessGroup& group, const Bucket& bucket) {
    if (bucket.gradients.dtype() != DType::kFloat32) return all_reduce_hook(group, bucket);
    const Tensor compressed = compressed_memory(*kept, group, bucket);
    kernels::cast(compressed, bucket.gradients);
    comm::Work sum = group.all_reduce(as_buffer(compressed), comm::ReduceOp::kSum, {.tag = name_of(bucket)});
    return comm::Work(
        std::make_shared<CompressedWork>(std::move(sum), compressed, bucket.gradients, group.world_size()));
  };
}

}  // namespace lockstep::ddp
