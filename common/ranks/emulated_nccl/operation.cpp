#include "emulated_nccl/operation.hpp"

#include <array>
#include <limits>

#include "emulated_nccl/failure.hpp"

namespace lockstep::emulated_nccl {
namespace {

struct Type {
  std::size_t bytes;
  bool can_be_reduced;
};
// By the values of ncclDataType_t.
constexpr std::array<Type, ncclNumTypes> kTypes = {{{1, false},    // int8
                                                    {1, false},    // uint8
                                                    {4, true},     // int32
                                                    {4, false},    // uint32
                                                    {8, true},     // int64
                                                    {8, false},    // uint64
                                                    {2, false},    // float16
                                                    {4, true},     // float32
                                                    {8, true},     // float64
                                                    {2, true},     // bfloat16
                                                    {1, false},    // float8 e4m3
                                                    {1, false}}};  // float8 e5m2

Type type_of(const Operation& operation) noexcept { return kTypes[static_cast<std::size_t>(operation.type)]; }

std::size_t own_bytes(const Operation& operation) noexcept { return operation.count * type_of(operation).bytes; }

}  // namespace

std::size_t input_bytes(const Operation& operation, int rank, int size) noexcept {
  switch (operation.kind) {
    case Kind::kReceive:
      return 0;
    case Kind::kBroadcast:
      return rank == operation.peer ? own_bytes(operation) : 0;
    case Kind::kReduceScatter:
      return own_bytes(operation) * static_cast<std::size_t>(size);
    default:
      return own_bytes(operation);
  }
}

std::size_t output_bytes(const Operation& operation, int rank, int size) noexcept {
  switch (operation.kind) {
    case Kind::kSend:
      return 0;
    case Kind::kReduce:
      return rank == operation.peer ? own_bytes(operation) : 0;
    case Kind::kAllGather:
      return own_bytes(operation) * static_cast<std::size_t>(size);
    default:
      return own_bytes(operation);
  }
}

void require_known(const Operation& operation, int size) {
  nccl_require(operation.type >= 0 && operation.type < ncclNumTypes, ncclInvalidArgument, "there is no data type ",
               static_cast<int>(operation.type));
  nccl_require(operation.peer >= 0 && operation.peer < size, ncclInvalidArgument, "there is no rank ", operation.peer,
               " among ", size);
  const std::size_t most =
      std::numeric_limits<std::size_t>::max() / type_of(operation).bytes / static_cast<std::size_t>(size);
  nccl_require(operation.count <= most, ncclInvalidArgument, operation.count,
               " elements have more bytes than a rank of ", size, " can address: is the count negative?");
  if (!is_reduction(operation.kind)) return;
  nccl_require(operation.op >= 0 && operation.op < ncclNumOps, ncclInvalidArgument, "there is no reduction ",
               static_cast<int>(operation.op));
  nccl_require(type_of(operation).can_be_reduced, ncclInvalidArgument, "the emulator's NCCL does not reduce data type ",
               static_cast<int>(operation.type), ": use int32, int64, float32, float64 or bfloat16");
}

void require_paired_with_self(std::span<const Operation> operations, int rank) {
  std::vector<std::size_t> sent, received;
  for (const Operation& operation : operations) {
    if (is_collective(operation.kind) || operation.peer != rank) continue;
    (operation.kind == Kind::kSend ? sent : received).push_back(own_bytes(operation));
  }
  nccl_require(sent == received, ncclInvalidUsage, "rank ", rank,
               " sends to itself what it does not receive from itself in the same group, or the other way round");
}

}  // namespace lockstep::emulated_nccl
