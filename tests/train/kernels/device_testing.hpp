#pragma once
/// @file
/// What the tests of device kernels share: memory of the device under test, and comparisons with float64 on the CPU.
/// The device is the emulator or, in a build by nvcc, the GPU; LOCKSTEP_EMULATOR_CHECK=1 chooses the checked kernels.
#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "kernels/operations.hpp"
#include "kernels/testing.hpp"
#include "support/accelerator.hpp"

namespace lockstep::kernels::testing {

/// The types in which device kernels store activations.
inline constexpr DType kStoredTypes[] = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};

/// Unit roundoff of what is stored as `dtype` and computed in float32. (float16 below 2^-14 errs by 2^-25 at most,
/// which no bound below feels: errors are relative to max(1, value).)
[[nodiscard]] constexpr double roundoff_of(DType dtype) {
  if (dtype == DType::kFloat32) return 0x1p-24;
  return dtype == DType::kBFloat16 ? 0x1p-8 : 0x1p-11;
}

/// The error that storing as `dtype` may add to that of float32 arithmetic.
[[nodiscard]] constexpr double store_error(DType dtype) { return is_reduced_float(dtype) ? roundoff_of(dtype) : 0.0; }

/// Standard normal elements stored as `dtype`, one of kStoredTypes.
[[nodiscard]] Tensor random_stored(DType dtype, const Shape& shape, std::uint64_t key, double deviation = 1.0);
/// The same elements in float64.
[[nodiscard]] Tensor doubled(const Tensor& tensor);
/// A float32 tensor with an infinity, a negative infinity and a NaN put into it, as far as it has room.
void put_special_values(const Tensor& tensor);

/// The largest of |a - b| / max(1, |b|). A NaN agrees with a NaN only, an infinity with itself only: else infinity.
[[nodiscard]] double worst_error(const Tensor& values, const Tensor& expected);

/// The device under test, with memory that lives as long as the object. Every array ends where its allocation ends (but
/// for alignment), so that the emulator sees what is read beyond it.
class TestDevice {
 public:
  TestDevice();
  ~TestDevice();
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  /// The kernels under test.
  [[nodiscard]] const Operations& ops() const;
  /// Where they run. Reports faults into faults().
  [[nodiscard]] Context context();
  /// Waits for everything, then reads what kernels have noted.
  [[nodiscard]] DeviceFaults faults();

  /// A copy of `tensor`, `skipped` elements behind an address that is a multiple of 256. Undefined stays undefined.
  [[nodiscard]] Array put(const Tensor& tensor, std::int64_t skipped = 0);
  /// Uninitialised memory for as many elements as `like` has.
  [[nodiscard]] Array make(const Tensor& like, std::int64_t skipped = 0);
  /// Waits for everything, then copies the elements into a tensor.
  [[nodiscard]] Tensor get(const Array& array);
  /// A mask with these sample ids.
  [[nodiscard]] Dropout mask(const DropoutMask& mask);
  /// One double.
  [[nodiscard]] double* number();
  [[nodiscard]] double read(const double* number);

 private:
  class Scratch;

  [[nodiscard]] void* allocate(std::size_t bytes);

  Device device_ = test::accelerator();  // first: ends the test as skipped if there is none
  std::vector<void*> allocations_;
  std::unique_ptr<Scratch> scratch_;
  DeviceFaults* faults_;
};

}  // namespace lockstep::kernels::testing
