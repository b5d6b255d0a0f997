// Matrix products, in float32 and on tensor cores. Factors are small integers, so products and sums are exact.
#include "04_kernels/measure/ladder_problem.hpp"
#include "04_kernels/measure/problems.hpp"
#include "base/bfloat16.hpp"
#include "device/cuda_check.hpp"

namespace lockstep::ladders {

namespace {

constexpr int kMost = 4;  // sums of up to a million products of at most 16 are below 2^24

std::size_t area(int rows, int columns) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }

Cost product_cost(ProductSizes sizes, double factor_bytes) {
  const double m = sizes.m, n = sizes.n, k = sizes.k;
  return {.bytes = factor_bytes * (m * k + k * n) + 4 * m * n, .operations = 2 * m * n * k, .elements = m * n};
}

/// [m, n], where b's element for (k, column) is at b[k * row_stride + column * column_stride].
std::vector<Expected> product(std::span<const float> a, std::span<const float> b, ProductSizes sizes, int row_stride,
                              int column_stride) {
  std::vector<Expected> c(area(sizes.m, sizes.n));
  for (int row = 0; row < sizes.m; ++row) {
    for (int k = 0; k < sizes.k; ++k) {
      const double factor = a[area(row, sizes.k) + static_cast<std::size_t>(k)];
      for (int column = 0; column < sizes.n; ++column) {
        const float other = b[area(k, row_stride) + area(column, column_stride)];
        c[area(row, sizes.n) + static_cast<std::size_t>(column)].value += factor * double{other};
      }
    }
  }
  return c;
}

class MatrixProductProblem : public LadderProblem<MatrixProduct> {
 public:
  MatrixProductProblem(ProductSizes sizes, const Registry& registry)
      : LadderProblem(registry.matrix_product),
        sizes_(sizes),
        host_a_(whole_numbers(area(sizes.m, sizes.k), kMost, 1)),
        host_b_(whole_numbers(area(sizes.k, sizes.n), kMost, 2)),
        a_(std::span<const float>(host_a_)),
        b_(std::span<const float>(host_b_)),
        c_(area(sizes.m, sizes.n)) {}

  void reset() override { c_.poison(); }

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(c_.data(), a_.data(), b_.data(), sizes_, stream);
  }

  [[nodiscard]] Verdict verdict() const override {
    if (expected_.empty()) expected_ = product(host_a_, host_b_, sizes_, sizes_.n, 1);
    return compare(c_.to_host(), expected_);
  }

  [[nodiscard]] Cost cost() const override { return product_cost(sizes_, sizeof(float)); }

 protected:
  [[nodiscard]] bool is_met(Requirement requirement) const override {
    return meets(requirement, sizes_.n) && meets(requirement, sizes_.k);
  }

 private:
  ProductSizes sizes_;
  std::vector<float> host_a_, host_b_;
  DeviceArray<float> a_, b_, c_;
  mutable std::vector<Expected> expected_;
};

std::vector<std::uint16_t> as_bfloat16(std::span<const float> values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(to_bfloat16(value).bits);
  return bits;
}

/// Whether the current device has Hopper's instructions; later ones do not have them either.
bool is_hopper() {
  int device = 0, major = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major == 9;
}

class TensorCoreProblem : public LadderProblem<TensorCoreProduct> {
 public:
  TensorCoreProblem(ProductSizes sizes, const Registry& registry)
      : LadderProblem(registry.tensor_cores),
        sizes_(sizes),
        host_a_(whole_numbers(area(sizes.m, sizes.k), kMost, 1)),
        host_b_(whole_numbers(area(sizes.n, sizes.k), kMost, 2)),
        a_(std::span<const std::uint16_t>(as_bfloat16(host_a_))),
        b_(std::span<const std::uint16_t>(as_bfloat16(host_b_))),
        c_(area(sizes.m, sizes.n)) {}

  void reset() override { c_.poison(); }

  void enqueue(int rung, cudaStream_t stream) override {
    function(rung)(c_.data(), reinterpret_cast<const __nv_bfloat16*>(a_.data()),
                   reinterpret_cast<const __nv_bfloat16*>(b_.data()), sizes_, stream);
  }

  [[nodiscard]] Verdict verdict() const override {
    if (expected_.empty()) expected_ = product(host_a_, host_b_, sizes_, 1, sizes_.k);
    return compare(c_.to_host(), expected_);
  }

  [[nodiscard]] Cost cost() const override {
    Cost cost = product_cost(sizes_, sizeof(std::uint16_t));
    cost.uses_tensor_cores = true;
    return cost;
  }

 protected:
  [[nodiscard]] bool is_met(Requirement requirement) const override {
    return meets(requirement, sizes_.k) && (requirement != Requirement::kHopper || is_hopper());
  }

 private:
  ProductSizes sizes_;
  std::vector<float> host_a_, host_b_;
  DeviceArray<std::uint16_t> a_, b_;
  DeviceArray<float> c_;
  mutable std::vector<Expected> expected_;
};

}  // namespace

std::unique_ptr<Problem> make_matrix_product(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<MatrixProductProblem>(ProductSizes{sizes[0], sizes[1], sizes[2]}, registry);
}

std::unique_ptr<Problem> make_tensor_cores(std::span<const int> sizes, const Registry& registry) {
  return std::make_unique<TensorCoreProblem>(ProductSizes{sizes[0], sizes[1], sizes[2]}, registry);
}

}  // namespace lockstep::ladders
