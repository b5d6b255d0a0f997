#include "kernels/device_testing.hpp"

#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/error.hpp"
#include "kernels/checked_kernels.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::kernels::cuda {
inline namespace plain {
const Operations& operations();
}
}  // namespace lockstep::kernels::cuda

namespace lockstep::kernels::testing {

namespace {

void check(cudaError_t status) { require(status == cudaSuccess, "CUDA: ", cudaGetErrorString(status)); }

std::int64_t last_dimension(const Tensor& tensor) { return tensor.shape().rank() == 0 ? 1 : tensor.shape()[-1]; }

double error_of(double value, double expected) {
  if (std::isnan(value) || std::isnan(expected)) return std::isnan(value) && std::isnan(expected) ? 0.0 : INFINITY;
  if (std::isinf(value) || std::isinf(expected)) return value == expected ? 0.0 : INFINITY;
  return std::abs(value - expected) / std::max(1.0, std::abs(expected));
}

}  // namespace

Tensor random_stored(DType dtype, const Shape& shape, std::uint64_t key, double deviation) {
  const Tensor values = random_tensor<float>(shape, key, deviation);
  const Tensor stored = Tensor::empty(shape, dtype);
  cast(stored, values);
  return stored;
}

Tensor doubled(const Tensor& tensor) { return Tensor::from<double>(values_of(tensor), tensor.shape()); }

void put_special_values(const Tensor& tensor) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::span<float> values = tensor.span<float>();
  const std::vector<float> specials{std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
  for (std::size_t i = 0; i < specials.size() && 10 * i < values.size(); ++i) values[10 * i] = specials[i];
}

double worst_error(const Tensor& values, const Tensor& expected) {
  const Values a = values_of(values), b = values_of(expected);
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, error_of(a[i], b[i]));
  return worst;
}

class TestDevice::Scratch : public DeviceScratch {
 public:
  explicit Scratch(TestDevice& device) : device_(device) {}
  [[nodiscard]] void* take_bytes(std::size_t bytes) override { return device_.allocate(bytes); }

 private:
  TestDevice& device_;
};

TestDevice::TestDevice()
    : scratch_(std::make_unique<Scratch>(*this)), faults_(static_cast<DeviceFaults*>(allocate(sizeof(DeviceFaults)))) {
  check(cudaMemset(faults_, 0xFF, sizeof(DeviceFaults)));
}

TestDevice::~TestDevice() {
  for (void* const allocation : allocations_) cudaFree(allocation);
}

const Operations& TestDevice::ops() const {
#ifdef LOCKSTEP_HAVE_CHECKED_KERNELS
  const char* const wanted = std::getenv("LOCKSTEP_EMULATOR_CHECK");
  if (wanted != nullptr && std::string_view(wanted) == "1") return checked_operations();
#endif
  return cuda::operations();
}

Context TestDevice::context() {
  return {.stream = nullptr, .device = device_.index, .scratch = scratch_.get(), .faults = faults_};
}

DeviceFaults TestDevice::faults() {
  DeviceFaults faults{};
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(&faults, faults_, sizeof faults, cudaMemcpyDeviceToHost));
  return faults;
}

void* TestDevice::allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)));
  allocations_.push_back(memory);
  return memory;
}

Array TestDevice::make(const Tensor& like, std::int64_t skipped) {
  if (!like.is_defined()) return {};
  const std::int64_t columns = last_dimension(like), element = static_cast<std::int64_t>(bytes_of(like.dtype()));
  auto* const memory = static_cast<std::byte*>(allocate(static_cast<std::size_t>(like.bytes() + skipped * element)));
  return {memory + skipped * element, columns == 0 ? 0 : like.count() / columns, columns, like.dtype()};
}

Array TestDevice::put(const Tensor& tensor, std::int64_t skipped) {
  const Array array = make(tensor, skipped);
  if (tensor.count() > 0) {
    check(cudaMemcpy(array.data, tensor.data(), static_cast<std::size_t>(tensor.bytes()), cudaMemcpyHostToDevice));
  }
  return array;
}

Tensor TestDevice::get(const Array& array) {
  Tensor tensor = Tensor::empty({array.rows, array.columns}, array.dtype);
  check(cudaDeviceSynchronize());
  if (tensor.count() > 0) {
    check(cudaMemcpy(tensor.data(), array.data, static_cast<std::size_t>(tensor.bytes()), cudaMemcpyDeviceToHost));
  }
  return tensor;
}

Dropout TestDevice::mask(const DropoutMask& mask) {
  const Tensor ids = Tensor::from<std::int64_t>(mask.sample_ids, {static_cast<std::int64_t>(mask.sample_ids.size())});
  return {.probability = mask.probability,
          .key = mask.key,
          .sample_ids = put(ids).as<std::int64_t>(),
          .samples = ids.count(),
          .first_element = mask.first_element};
}

double* TestDevice::number() { return static_cast<double*>(allocate(sizeof(double))); }

double TestDevice::read(const double* number) {
  double value = 0;
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(&value, number, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

}  // namespace lockstep::kernels::testing
