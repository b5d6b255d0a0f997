// Matrix products on cuBLASLt, with the bias in its epilogue. Accumulation and scale are float32 (no TensorFloat-32).
#include <memory>
#include <type_traits>

#include "base/error.hpp"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/matmul_plan.hpp"
#include "kernels/cuda/matmul_trial.hpp"
#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

struct DestroyOperation {
  void operator()(cublasLtMatmulDesc_t operation) const { cublasLtMatmulDescDestroy(operation); }
};
using Operation = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DestroyOperation>;
struct DestroyLayout {
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DestroyLayout>;

cudaDataType_t type_of(DType dtype) {
  if (dtype == DType::kFloat32) return CUDA_R_32F;
  return dtype == DType::kBFloat16 ? CUDA_R_16BF : CUDA_R_16F;
}

/// Describes `batch` row-major matrices, stored one after the other. cuBLASLt sees their transposes.
Layout layout_of(const ConstArray& matrices, std::int64_t batch) {
  const std::int64_t rows = matrices.rows / batch;
  cublasLtMatrixLayout_t layout = nullptr;
  cublas_check(
      cublasLtMatrixLayoutCreate(&layout, type_of(matrices.dtype), static_cast<std::uint64_t>(matrices.columns),
                                 static_cast<std::uint64_t>(rows), matrices.columns),
      "describing a matrix");
  Layout made(layout);
  if (batch == 1) return made;
  const auto count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * matrices.columns;
  cublas_check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "describing a batch");
  cublas_check(
      cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
      "describing a batch");
  return made;
}

template <typename T>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  cublas_check(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value),
               "describing a product");
}

Operation operation_of(const MatmulKey& key, const void* bias) {
  cublasLtMatmulDesc_t made = nullptr;
  cublas_check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
  Operation operation(made);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, key.is_b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, key.is_a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (key.has_bias) {
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);  // one element for each row of out^T
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }
  return operation;
}

/// The largest power of 2 up to 256 that divides all addresses.
std::uint32_t alignment_of(std::initializer_list<const void*> addresses) {
  std::uintptr_t bits = 256;
  for (const void* address : addresses) bits |= reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

/// The library can only add a bias of the result's type, so for a 16-bit result the bias is rounded: an error of at
/// most 2^-8 (bfloat16) or 2^-11 (float16) of the bias.
ConstArray bias_for(const Array& out, ConstArray bias, Context context) {
  if (!bias.is_defined() || bias.dtype == out.dtype) return bias;
  const std::size_t bytes = static_cast<std::size_t>(bias.count()) * bytes_of(out.dtype);
  const Array rounded{context.scratch->take_bytes(bytes), bias.rows, bias.columns, out.dtype};
  cast(rounded, bias, context);
  return rounded;
}

/// A product with K = 0, whose sums are 0; cuBLASLt has no algorithm for it.
void multiply_nothing(const Array& out, const ConstArray& bias, Write write, Context context) {
  if (bias.is_defined()) {
    const StridedView all{.sizes = {1, 1, out.rows, out.columns}, .strides = {0, 0, out.columns, 1}};
    const StridedView same_row{.sizes = {1, 1, out.rows, out.columns}, .strides = {0, 0, 0, 1}};
    copy_view(out, all, write, bias_for(out, bias, context), same_row, context);
  } else if (write == Write::kOverwrite) {
    cuda_check(cudaMemsetAsync(out.data, 0, out.bytes(), context.stream));
  }
}

/// `batch` products of contiguous matrices; a bias needs a batch of one.
void multiply_matrices(Array out, ConstArray a, Transpose a_transpose, ConstArray b, Transpose b_transpose,
                       ConstArray bias, std::int64_t batch, Write write, Context context) {
  const std::int64_t inner = a_transpose == Transpose::kYes ? a.rows / batch : a.columns;
  if (out.count() == 0) return;
  if (inner == 0) return multiply_nothing(out, bias, write, context);
  const ConstArray added = bias_for(out, bias, context);
  const MatmulKey key{.batch = batch,
                      .rows = out.rows / batch,
                      .columns = out.columns,
                      .inner = inner,
                      .is_a_transposed = a_transpose == Transpose::kYes,
                      .is_b_transposed = b_transpose == Transpose::kYes,
                      .has_bias = added.is_defined(),
                      .is_added = write == Write::kAdd,
                      .in = a.dtype,
                      .out = out.dtype,
                      .alignment = alignment_of({out.data, a.data, b.data, added.data})};
  const Operation operation = operation_of(key, added.data);
  const Layout left = layout_of(b, batch), right = layout_of(a, batch), result = layout_of(out, batch);
  const MatmulCall call{operation.get(), left.get(), right.get(), result.get()};
  MatmulPlans& plans = MatmulPlans::of_device(context.device);
  const MatmulAlgorithm algorithm = matmul_algorithm(plans, key, call, context);
  void* const workspace = algorithm.workspaceSize == 0 ? nullptr : context.scratch->take_bytes(algorithm.workspaceSize);
  cublas_check(call.enqueue(plans.handle(), algorithm, key, out.data, a.data, b.data, workspace, context.stream),
               "multiplying matrices");
}

}  // namespace

void matmul(Array out, ConstArray a, Transpose a_transpose, ConstArray b, Transpose b_transpose, ConstArray bias,
            Write write, Context context) {
  multiply_matrices(out, a, a_transpose, b, b_transpose, bias, 1, write, context);
}

void batched_matmul(Array out, ConstArray a, Transpose a_transpose, ConstArray b, Transpose b_transpose,
                    std::int64_t batch, Write write, Context context) {
  multiply_matrices(out, a, a_transpose, b, b_transpose, {}, batch, write, context);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
