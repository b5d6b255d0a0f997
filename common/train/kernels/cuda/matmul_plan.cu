// Asks cuBLASLt for algorithms. Host code only; compiled with the kernels because it uses the same headers.
#include <algorithm>
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

cublasLtMatmulHeuristicResult_t MatmulPlans::choice(const MatmulKey& key, cublasLtMatmulDesc_t operation,
                                                    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                    cublasLtMatrixLayout_t out) {
  const std::lock_guard lock(mutex_);
  if (const auto found = choices_.find(key); found != choices_.end()) return found->second;
  const Preference preference = make_preference(key.alignment);
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> candidates{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, operation, a, b, out, out, preference.get(),
                                                               kCandidates, candidates.data(), &count);
  const auto end = candidates.begin() + count;
  const auto best =
      std::find_if(candidates.begin(), end, [](const auto& one) { return one.state == CUBLAS_STATUS_SUCCESS; });
  if (status != CUBLAS_STATUS_SUCCESS || best == end) {
    throw Error(concat("cuBLASLt has no algorithm for ", key.batch, " product(s) of ", key.in, " [", key.rows, ", ",
                       key.inner, "] times [", key.inner, ", ", key.columns, "] into ", key.out, " aligned to ",
                       key.alignment, " bytes (", count, " candidates): ", cublasLtGetStatusString(status)));
  }
  choices_.emplace(key, *best);
  return *best;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
