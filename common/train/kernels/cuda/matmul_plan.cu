// Asks cuBLASLt for algorithms. Host code only; compiled with the kernels because it uses the same headers.
#include <array>
#include <memory>

#include "base/error.hpp"
#include "kernels/cuda/matmul_plan.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr std::size_t kMostWorkspaceBytes = std::size_t{32} << 20;  // NVIDIA's advice for Hopper
constexpr int kCandidates = 8;

struct DestroyPreference {
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
};
using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, DestroyPreference>;

template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  cublas_check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
               "stating a preference");
}

Preference make_preference(std::uint32_t alignment) {
  cublasLtMatmulPreference_t made = nullptr;
  cublas_check(cublasLtMatmulPreferenceCreate(&made), "making preferences");
  Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes);
  // Split sums are added in order, through the workspace: results repeat bit for bit.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, alignment);
  }
  return preference;
}

}  // namespace

void cublas_check(cublasStatus_t status, std::string_view doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(concat("cuBLASLt, ", doing, ": ", cublasLtGetStatusString(status)));
}

MatmulPlans& MatmulPlans::of_device(int device) {
  constexpr int kMostDevices = 64;
  static std::mutex mutex;
  static std::array<MatmulPlans*, kMostDevices> plans{};  // never destroyed
  require(device >= 0 && device < kMostDevices, "matmul: device ", device, " is not in [0, ", kMostDevices, ")");
  const std::lock_guard lock(mutex);
  MatmulPlans*& plan = plans[static_cast<std::size_t>(device)];
  if (plan == nullptr) plan = std::make_unique<MatmulPlans>().release();
  return *plan;
}

MatmulPlans::MatmulPlans() { cublas_check(cublasLtCreate(&handle_), "starting the library"); }

std::vector<MatmulAlgorithm> MatmulPlans::candidates(const MatmulKey& key, const MatmulCall& call) const {
  const Preference preference = make_preference(key.alignment);
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, call.operation, call.left, call.right, call.out, call.out,
                                     preference.get(), kCandidates, found.data(), &count);
  std::vector<MatmulAlgorithm> candidates;
  for (auto one = found.begin(); one != found.begin() + count; ++one)
    if (one->state == CUBLAS_STATUS_SUCCESS) candidates.push_back({*one});
  if (status != CUBLAS_STATUS_SUCCESS || candidates.empty()) {
    throw Error(concat("cuBLASLt has no algorithm for ", key.batch, " product(s) of ", key.in, " [", key.rows, ", ",
                       key.inner, "] times [", key.inner, ", ", key.columns, "] into ", key.out, " aligned to ",
                       key.alignment, " bytes (", count, " candidates): ", cublasLtGetStatusString(status)));
  }
  return candidates;
}

std::optional<MatmulAlgorithm> MatmulPlans::find(std::uint64_t chooser, const MatmulKey& key) {
  const std::lock_guard lock(mutex_);
  const std::map<MatmulKey, MatmulAlgorithm>& of_chooser = choices_[chooser];
  const auto found = of_chooser.find(key);
  return found == of_chooser.end() ? std::nullopt : std::optional(found->second);
}

void MatmulPlans::keep(std::uint64_t chooser, const MatmulKey& key, const MatmulAlgorithm& algorithm) {
  const std::lock_guard lock(mutex_);
  choices_[chooser].insert_or_assign(key, algorithm);
}

cublasStatus_t MatmulCall::enqueue(cublasLtHandle_t handle, const MatmulAlgorithm& algorithm, const MatmulKey& key,
                                   void* result, const void* a, const void* b, void* workspace,
                                   cudaStream_t stream) const {
  const float one = 1.0F, kept = key.is_added ? 1.0F : 0.0F;
  return cublasLtMatmul(handle, operation, &one, b, left, a, right, &kept, result, out, result, out, &algorithm.algo,
                        workspace, algorithm.workspaceSize, stream);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
