#include "comm_mpi/mpi_types.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "comm/reduce.hpp"
#include "comm_mpi/mpi_library.hpp"

namespace lockstep::mpi_backend {
namespace {

// kFloat32 to kInt64 and kSum to kMax: those with arithmetic.
constexpr std::size_t kDTypes = 5, kOps = 4;

// MPI passes no context to a reduction function: one function for each dtype and operation.
template <std::size_t Number>
void reduce(void* input, void* accumulator, int* count, MPI_Datatype*) {
  comm::reduce_into(accumulator, input, *count, static_cast<DType>(Number / kOps),
                    static_cast<comm::ReduceOp>(Number % kOps));
}

template <std::size_t... Numbers>
std::array<MPI_Op, sizeof...(Numbers)> make_operations(std::index_sequence<Numbers...>) {
  constexpr int kCommutes = 1;
  std::array<MPI_Op, sizeof...(Numbers)> operations{};
  (check_mpi(MPI_Op_create(&reduce<Numbers>, kCommutes, &operations[Numbers])), ...);
  return operations;
}

}  // namespace

MPI_Datatype mpi_type(DType dtype) {
  switch (bytes_of(dtype)) {
    case 1:
      return MPI_UINT8_T;
    case 2:
      return MPI_UINT16_T;
    case 4:
      return MPI_UINT32_T;
    default:
      return MPI_UINT64_T;
  }
}

MPI_Op mpi_operation(DType dtype, comm::ReduceOp op) {
  static const auto operations = make_operations(std::make_index_sequence<kDTypes * kOps>());
  const auto row = static_cast<std::size_t>(dtype);
  const auto column = static_cast<std::size_t>(op == comm::ReduceOp::kMean ? comm::ReduceOp::kSum : op);
  require(row < kDTypes, dtype, " is for copying only");
  return operations.at(row * kOps + column);
}

}  // namespace lockstep::mpi_backend
