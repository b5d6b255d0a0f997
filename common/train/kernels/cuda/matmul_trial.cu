// Times cuBLASLt's candidates for a product. Host code only; compiled with the kernels because it uses the same
// headers.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/error.hpp"
#include "base/float16.hpp"
#include "base/philox.hpp"
#include "kernels/algorithm_chooser.hpp"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/matmul_trial.hpp"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr std::int64_t kMostTrialBytes = std::int64_t{1} << 30;  // of a, b and the result
constexpr std::int64_t kRandomBlock = 65'537;                    // elements, repeated; a prime, so that rows differ
constexpr int kRounds = 3, kCallsInRound = 5;

void store(float& to, float value) { to = value; }
void store(BFloat16& to, float value) { to = to_bfloat16(value); }
void store(Float16& to, float value) { to = to_float16(value); }

/// Fills an array with numbers from [-1, 1). With zeros, say, a GPU needs less power, and multiplies faster.
template <typename S>
void fill_with_random_numbers(const Array& array, std::uint64_t key, cudaStream_t stream) {
  std::vector<S> block(static_cast<std::size_t>(std::min(kRandomBlock, array.count())));
  PhiloxSequence random(key);
  for (S& element : block) store(element, 2.0F * uniform_float(random.next_word()) - 1.0F);
  auto* const to = static_cast<std::byte*>(array.data);
  std::size_t filled = block.size() * sizeof(S);
  cuda_check(cudaMemcpyAsync(to, block.data(), filled, cudaMemcpyHostToDevice, stream), "copying random numbers");
  cuda_check(cudaStreamSynchronize(stream), "copying random numbers");  // before the block goes
  while (filled < array.bytes()) {
    const std::size_t next = std::min(filled, array.bytes() - filled);
    cuda_check(cudaMemcpyAsync(to + filled, to, next, cudaMemcpyDeviceToDevice, stream), "copying random numbers");
    filled += next;
  }
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using TimedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

TimedEvent make_event() {
  cudaEvent_t event = nullptr;
  cuda_check(cudaEventCreate(&event), "creating an event");
  return TimedEvent(event);
}

/// The candidates of a product on random numbers. Nothing of the caller's is written; of its memory, only the bias is
/// read.
class MatmulTrial final : public AlgorithmTrial {
 public:
  MatmulTrial(const MatmulPlans& plans, const std::vector<MatmulAlgorithm>& candidates, const MatmulKey& key,
              const MatmulCall& call, Context context)
      : plans_(plans), candidates_(candidates), key_(key), call_(call), context_(context) {}

  /// Of a, b and the result.
  [[nodiscard]] static std::int64_t bytes_of_product(const MatmulKey& key) {
    const std::int64_t in = key.batch * (key.rows + key.columns) * key.inner, out = key.batch * key.rows * key.columns;
    return in * static_cast<std::int64_t>(bytes_of(key.in)) + out * static_cast<std::int64_t>(bytes_of(key.out));
  }

  void prepare() override {
    std::size_t workspace_bytes = 0;
    for (const MatmulAlgorithm& one : candidates_) workspace_bytes = std::max(workspace_bytes, one.workspaceSize);
    a_ = random_array(key_.batch * key_.rows, key_.inner, key_.in, 1);
    b_ = random_array(key_.batch * key_.inner, key_.columns, key_.in, 2);
    out_ = random_array(key_.batch * key_.rows, key_.columns, key_.out, 3);
    if (workspace_bytes > 0) workspace_ = context_.scratch->take_bytes(workspace_bytes);
    cuda_check(cudaStreamSynchronize(context_.stream), "waiting for earlier work before products are timed");
  }

  [[nodiscard]] double milliseconds(std::size_t i) override {
    const TimedEvent start = make_event(), end = make_event();
    double best = std::numeric_limits<double>::infinity();
    enqueue(candidates_[i]);  // loads the kernel
    for (int round = 0; round < kRounds; ++round) {
      cuda_check(cudaEventRecord(start.get(), context_.stream), "timing a product");
      for (int call = 0; call < kCallsInRound; ++call) enqueue(candidates_[i]);
      cuda_check(cudaEventRecord(end.get(), context_.stream), "timing a product");
      cuda_check(cudaEventSynchronize(end.get()), "timing a product");
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "timing a product");
      best = std::min(best, double{milliseconds} / kCallsInRound);
    }
    return best;
  }

 private:
  [[nodiscard]] Array random_array(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t key) const {
    Array array{{nullptr, rows, columns, dtype}};
    array.data = context_.scratch->take_bytes(array.bytes());
    on_storage_type(array, [&](auto zero) {
      using S = decltype(zero);
      fill_with_random_numbers<S>(array, key, context_.stream);
    });
    return array;
  }

  void enqueue(const MatmulAlgorithm& candidate) const {
    cublas_check(
        call_.enqueue(plans_.handle(), candidate, key_, out_.data, a_.data, b_.data, workspace_, context_.stream),
        "timing a product");
  }

  const MatmulPlans& plans_;
  const std::vector<MatmulAlgorithm>& candidates_;
  const MatmulKey& key_;
  const MatmulCall& call_;
  Context context_;
  Array a_, b_, out_;
  void* workspace_ = nullptr;
};

std::string library_of(int device) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "asking for the GPU's name");
  return concat("cuBLASLt ", cublasLtGetVersion(), " on ", static_cast<const char*>(properties.name));
}

std::string describe(const MatmulKey& key) {
  const auto matrix = [](std::int64_t rows, std::int64_t columns, bool is_transposed) {
    return is_transposed ? concat("[", columns, ", ", rows, "]^T") : concat("[", rows, ", ", columns, "]");
  };
  return concat(key.batch, " x ", key.in, " ", matrix(key.rows, key.inner, key.is_a_transposed), " ",
                matrix(key.inner, key.columns, key.is_b_transposed), key.has_bias ? " + bias" : "",
                key.is_added ? " + result" : "", " -> ", key.out, ", aligned to ", key.alignment);
}

/// The words of an algorithm, which NVIDIA allows to store: "1f:0:20021". Zeros at the end are left out.
std::string name_of(const cublasLtMatmulAlgo_t& algorithm) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string name;
  for (const std::uint64_t word : algorithm.data) {
    if (!name.empty()) name += ':';
    std::string digits;
    for (std::uint64_t rest = word; rest != 0; rest /= 16) digits += kDigits[rest % 16];
    if (digits.empty()) digits = "0";
    name.append(digits.rbegin(), digits.rend());
  }
  while (name.ends_with(":0")) name.resize(name.size() - 2);
  return name;
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cuda_check(cudaStreamIsCapturing(stream, &status), "asking whether a stream is captured");
  return status != cudaStreamCaptureStatusNone;
}

/// The index of the candidate that the context's chooser takes.
std::size_t choose(const MatmulPlans& plans, const std::vector<MatmulAlgorithm>& candidates, const MatmulKey& key,
                   const MatmulCall& call, Context context) {
  MatmulTrial trial(plans, candidates, key, call, context);
  const bool can_be_timed = MatmulTrial::bytes_of_product(key) <= kMostTrialBytes && !is_captured(context.stream);
  AlgorithmOffer offer{.library = library_of(context.device),
                       .product = describe(key),
                       .algorithms = {},
                       .trial = can_be_timed ? &trial : nullptr};
  for (const MatmulAlgorithm& one : candidates) offer.algorithms.push_back(name_of(one.algo));
  return context.algorithms->choose(offer);
}

}  // namespace

MatmulAlgorithm matmul_algorithm(MatmulPlans& plans, const MatmulKey& key, const MatmulCall& call, Context context) {
  const std::uint64_t chooser = context.algorithms == nullptr ? 0 : context.algorithms->id();
  if (const std::optional<MatmulAlgorithm> known = plans.find(chooser, key)) return *known;
  const std::vector<MatmulAlgorithm> candidates = plans.candidates(key, call);
  const std::size_t chosen = chooser == 0 ? 0 : choose(plans, candidates, key, call, context);
  plans.keep(chooser, key, candidates.at(chosen));
  return candidates[chosen];
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
