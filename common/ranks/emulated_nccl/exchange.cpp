#include "emulated_nccl/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "comm/reduce.hpp"

namespace lockstep::emulated_nccl {
namespace {

using Bytes = std::span<std::byte>;

DType dtype_of_elements(ncclDataType_t type) {
  switch (type) {
    case ncclInt32:
      return DType::kInt32;
    case ncclInt64:
      return DType::kInt64;
    case ncclFloat64:
      return DType::kFloat64;
    case ncclBfloat16:
      return DType::kBFloat16;
    default:
      return DType::kFloat32;
  }
}

comm::ReduceOp reduce_op(ncclRedOp_t op) {
  // By the values of ncclRedOp_t.
  constexpr std::array kOps = {comm::ReduceOp::kSum, comm::ReduceOp::kProduct, comm::ReduceOp::kMax,
                               comm::ReduceOp::kMin, comm::ReduceOp::kMean};
  return kOps[static_cast<std::size_t>(op)];
}

void copy(Bytes to, Bytes from) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

// One collective on one rank.
class Collective {
 public:
  Collective(Mesh& mesh, const HostOperation& operation) : mesh_(mesh), operation_(operation) {}

  void run() {
    const Bytes input = operation_.input, output = operation_.output;
    const int root = operation_.call.peer;
    switch (operation_.call.kind) {
      case Kind::kAllReduce:  // each rank reduces its part of the elements, then all collect the parts
        reduce([&](int rank) { return part_of_elements(input, rank); }, part_of_elements(output, mesh_.rank()));
        return share(part_of_elements(output, mesh_.rank()), [&](int rank) { return part_of_elements(output, rank); });
      case Kind::kReduce:
        return reduce([&](int rank) { return rank == root ? input : Bytes{}; }, output);
      case Kind::kReduceScatter:
        return reduce([&](int rank) { return equal_part(input, rank); }, output);
      case Kind::kBroadcast:
        return share(input, [&](int rank) { return rank == root ? output : Bytes{}; });
      case Kind::kAllGather:
        return share(input, [&](int rank) { return equal_part(output, rank); });
      default:
        return;
    }
  }

 private:
  // Part `rank` of the elements, whose number need not be divisible by the number of ranks.
  [[nodiscard]] Bytes part_of_elements(Bytes bytes, int rank) const {
    const std::size_t count = operation_.call.count, size = static_cast<std::size_t>(mesh_.size());
    if (count == 0) return {};
    const std::size_t element = bytes.size() / count;
    const auto begin_of = [&](std::size_t part) { return count / size * part + std::min(part, count % size); };
    const auto part = static_cast<std::size_t>(rank);
    return bytes.subspan(begin_of(part) * element, (begin_of(part + 1) - begin_of(part)) * element);
  }

  [[nodiscard]] Bytes equal_part(Bytes bytes, int rank) const {
    const std::size_t part = bytes.size() / static_cast<std::size_t>(mesh_.size());
    return bytes.subspan(static_cast<std::size_t>(rank) * part, part);
  }

  // Every rank r gets all ranks' input_for(r); those that arrive here are reduced into `result`, which has the same
  // length.
  template <typename InputFor>
  void reduce(const InputFor& input_for, Bytes result) {
    std::vector<std::byte> memory(result.size() * static_cast<std::size_t>(mesh_.size()));
    const auto from = [&](int rank) {
      return Bytes(memory).subspan(static_cast<std::size_t>(rank) * result.size(), result.size());
    };
    std::vector<Message> sends, receives;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      if (rank == mesh_.rank()) continue;
      if (const Bytes input = input_for(rank); !input.empty()) sends.push_back({rank, input});
      if (!result.empty()) receives.push_back({rank, from(rank)});
    }
    mesh_.exchange(sends, receives);
    if (result.empty()) return;
    copy(from(mesh_.rank()), input_for(mesh_.rank()));
    const DType dtype = dtype_of_elements(operation_.call.type);
    const comm::ReduceOp op = reduce_op(operation_.call.op);
    const auto count = static_cast<std::int64_t>(result.size() / bytes_of(dtype));
    copy(result, from(0));
    for (int rank = 1; rank < mesh_.size(); ++rank)
      comm::reduce_into(result.data(), from(rank).data(), count, dtype, op);
    comm::finish_mean(result.data(), count, dtype, op, mesh_.size());
  }

  // Every rank r sends `own` to all others, which find it at output_of(r). Empty if a rank contributes nothing.
  template <typename OutputOf>
  void share(Bytes own, const OutputOf& output_of) {
    std::vector<Message> sends, receives;
    for (int rank = 0; rank < mesh_.size(); ++rank) {
      if (rank == mesh_.rank()) continue;
      if (!own.empty()) sends.push_back({rank, own});
      if (const Bytes output = output_of(rank); !output.empty()) receives.push_back({rank, output});
    }
    mesh_.exchange(sends, receives);
    const Bytes output = output_of(mesh_.rank());
    if (output.data() != own.data()) copy(output, own);
  }

  Mesh& mesh_;
  const HostOperation& operation_;
};

}  // namespace

void exchange(Mesh& mesh, std::span<const HostOperation> operations) {
  std::vector<Message> sends, receives;
  for (const HostOperation& operation : operations) {
    if (is_collective(operation.call.kind))
      Collective(mesh, operation).run();
    else if (operation.call.kind == Kind::kSend)
      sends.push_back({operation.call.peer, operation.input});
    else
      receives.push_back({operation.call.peer, operation.output});
  }
  if (!sends.empty() || !receives.empty()) mesh.exchange(sends, receives);
}

}  // namespace lockstep::emulated_nccl
