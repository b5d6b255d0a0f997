#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "emulator/cuda/cublasLt.h"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/blas_call.hpp"
#include "emulator/runtime/handles.hpp"
#include "emulator/runtime/product.hpp"

// The targets of a program's handles.
struct cublasLtContext {};
struct cublasLtMatmulPreferenceOpaque_t {};
struct cublasLtMatrixLayoutOpaque_t {
  lockstep::emulator::Matrix matrix;
  std::int32_t batch_count = 1;
};
struct cublasLtMatmulDescOpaque_t {
  std::int32_t compute_type = CUBLAS_COMPUTE_32F;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  std::int32_t operation_a = CUBLAS_OP_N;
  std::int32_t operation_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_stride = 0;
  std::int32_t bias_type = -1;  // -1: the type of D
  void* auxiliary = nullptr;
  std::int64_t auxiliary_leading = 0;
  std::int64_t auxiliary_stride = 0;
  std::int32_t auxiliary_type = -1;  // -1: the type of D
};

namespace {

using namespace lockstep::emulator;

constexpr std::uint64_t kUsable = 1;  // the first word of an algorithm that can run

template <typename Handle>
cublasStatus_t create(Handle* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = std::make_unique<std::remove_pointer_t<Handle>>().release();
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Opaque>
cublasStatus_t destroy(Opaque* handle) {
  const std::unique_ptr<Opaque> ended(handle);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t assign(T& to, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cudaDataType type_or(std::int32_t type, cudaDataType otherwise) {
  return type < 0 ? otherwise : static_cast<cudaDataType>(type);
}

Matrix placed(cublasLtMatrixLayout_t layout, const void* data) {
  Matrix matrix = layout->matrix;
  matrix.data = static_cast<std::byte*>(const_cast<void*>(data));
  return matrix;
}

Factor factor(cublasLtMatmulDesc_t description, const void* address) {
  api_require(address != nullptr, cudaErrorInvalidValue, "alpha or beta is null");
  const auto* value = static_cast<const float*>(address);
  return description->pointer_mode == CUBLAS_POINTER_MODE_HOST ? Factor{*value, nullptr} : Factor{0.0F, value};
}

// The bias or its gradient: one element per row of D; for BGRADB, one per column.
Matrix vector_of(const cublasLtMatmulDescOpaque_t& description, const Matrix& d) {
  const std::int64_t elements = (description.epilogue & epilogue::kSumOfB) != 0 ? d.columns : d.rows;
  return {type_or(description.bias_type, d.type),
          static_cast<std::byte*>(description.bias),
          elements,
          1,
          elements,
          false,
          description.bias_stride};
}

void add_epilogue(Product& product, const cublasLtMatmulDescOpaque_t& description) {
  product.epilogue = description.epilogue;
  const Matrix& d = product.d;
  if (description.bias != nullptr) product.bias = vector_of(description, d);
  if ((description.epilogue & epilogue::kAuxiliary) != 0) {
    product.auxiliary = {type_or(description.auxiliary_type, d.type),
                         static_cast<std::byte*>(description.auxiliary),
                         d.rows,
                         d.columns,
                         description.auxiliary_leading,
                         d.is_row_major,
                         description.auxiliary_stride};
  }
}

bool is_known(std::uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      return true;
    default:
      return false;
  }
}

bool is_supported(const cublasLtMatmulDescOpaque_t& description) {
  return is_float32(static_cast<cublasComputeType_t>(description.compute_type)) &&
         description.scale_type == CUDA_R_32F && is_known(description.epilogue) &&
         (description.pointer_mode == CUBLAS_POINTER_MODE_HOST ||
          description.pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return blas_call("cublasLtCreate", [&] { return create(handle); });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
const char* cublasLtGetStatusName(cublasStatus_t status) { return name_of(status); }
const char* cublasLtGetStatusString(cublasStatus_t status) { return name_of(status); }
size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type) {
  const cublasStatus_t status = create(description);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  (*description)->compute_type = compute_type;
  (*description)->scale_type = scale_type;
  return status;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) { return destroy(description); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  if (description == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return assign(description->compute_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return assign(description->scale_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return assign(description->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(description->operation_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(description->operation_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return assign(description->bias_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return assign(description->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return assign(description->auxiliary, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return assign(description->auxiliary_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return assign(description->auxiliary_stride, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE:
      return assign(description->auxiliary_type, value, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  const cublasStatus_t status = create(layout);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  (*layout)->matrix = {type,  nullptr, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading,
                       false, 0};
  return status;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  std::int32_t order = 0;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return assign(layout->matrix.type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      status = assign(order, value, bytes);
      if (status != CUBLAS_STATUS_SUCCESS) return status;
      if (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW) return CUBLAS_STATUS_NOT_SUPPORTED;
      layout->matrix.is_row_major = order == CUBLASLT_ORDER_ROW;
      return status;
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return assign(layout->matrix.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return assign(layout->matrix.columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return assign(layout->matrix.leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return assign(layout->batch_count, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(layout->matrix.stride, value, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) { return create(preference); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void* value, size_t) {
  return preference == nullptr || value == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* returned) {
  const bool is_complete = handle != nullptr && description != nullptr && a != nullptr && b != nullptr &&
                           c != nullptr && d != nullptr && results != nullptr && returned != nullptr && requested > 0;
  if (!is_complete) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  const bool has_types =
      element_bytes(a->matrix.type) > 0 && element_bytes(b->matrix.type) > 0 && element_bytes(d->matrix.type) > 0;
  if (!has_types || !is_supported(*description)) return CUBLAS_STATUS_NOT_SUPPORTED;
  // Of several algorithms the first cannot run: a program must read `state`, and take the first that can.
  *returned = std::min(requested, 3);
  for (int i = 0; i < *returned; ++i) {
    const bool is_usable = i > 0 || *returned == 1;
    results[i] = {};
    results[i].wavesCount = 1.0F;
    results[i].state = is_usable ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
    results[i].algo.data[0] = is_usable ? kUsable : 0;
    results[i].algo.data[1] = static_cast<std::uint64_t>(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, size_t, cudaStream_t stream) {
  return blas_call("cublasLtMatmul", [&] {
    const bool is_complete = handle != nullptr && description != nullptr && a_layout != nullptr &&
                             b_layout != nullptr && c_layout != nullptr && d_layout != nullptr;
    if (!is_complete) return CUBLAS_STATUS_INVALID_VALUE;
    const bool is_usable = algorithm == nullptr || algorithm->data[0] == kUsable;
    if (!is_usable || !is_supported(*description)) return CUBLAS_STATUS_NOT_SUPPORTED;
    Product product;
    product.name = "cublasLtMatmul";
    product.a = placed(a_layout, a);
    product.b = placed(b_layout, b);
    product.c = placed(c_layout, c);
    product.d = placed(d_layout, d);
    product.is_a_transposed = description->operation_a != CUBLAS_OP_N;
    product.is_b_transposed = description->operation_b != CUBLAS_OP_N;
    product.alpha = factor(description, alpha);
    product.beta = factor(description, beta);
    product.batch_count = d_layout->batch_count;
    add_epilogue(product, *description);
    const cublasStatus_t status = check(product);
    if (status == CUBLAS_STATUS_SUCCESS) enqueue(product, Handles::instance().queue(stream));
    return status;
  });
}
