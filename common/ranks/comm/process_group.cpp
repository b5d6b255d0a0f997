// The checks of each public call before it is issued.
#include "comm/process_group.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/process_group_backend.hpp"

namespace lockstep::comm {
namespace {

// Elements [part * count, (part + 1) * count) of `whole`.
bool is_part(const Buffer& part, const Buffer& whole, int index) {
  return part.data == static_cast<std::byte*>(whole.data) + index * part.bytes();
}

bool overlap(const Buffer& a, const Buffer& b) {
  const auto* a_begin = static_cast<const std::byte*>(a.data);
  const auto* b_begin = static_cast<const std::byte*>(b.data);
  return a.device == b.device && a_begin < b_begin + b.bytes() && b_begin < a_begin + a.bytes();
}

}  // namespace

Work ProcessGroup::all_reduce(Buffer values, ReduceOp op, const CollectiveOptions& options,
                              std::source_location where) {
  const std::int64_t count = values.count;
  return issue({.collective = Collective::kAllReduce, .values = std::move(values), .op = op, .count = count}, options,
               where);
}

Work ProcessGroup::all_reduce_coalesced(std::span<const Buffer> buffers, ReduceOp op, const CollectiveOptions& options,
                                        std::source_location where) {
  require(!buffers.empty(), "all_reduce_coalesced: no buffers");
  Call call{.collective = Collective::kAllReduce, .op = op};
  for (const Buffer& buffer : buffers) {
    require(buffer.dtype == buffers[0].dtype, "all_reduce_coalesced: buffers of ", buffers[0].dtype, " and ",
            buffer.dtype);
    require(buffer.device == buffers[0].device, "all_reduce_coalesced: buffers on ", buffers[0].device.name(), " and ",
            buffer.device.name());
    require(buffer.count >= 0 && (buffer.count == 0 || buffer.data != nullptr),
            "all_reduce_coalesced: a buffer with count ", buffer.count, " has no data");
    call.count += buffer.count;
    call.parts.push_back(buffer);
  }
  const auto staging =
      Storage::allocate(static_cast<std::size_t>(call.count) * bytes_of(buffers[0].dtype), buffers[0].device);
  call.values = {staging->data(), call.count, buffers[0].dtype, buffers[0].device, staging};
  return issue(std::move(call), options, where);
}

Work ProcessGroup::broadcast(Buffer values, int root, const CollectiveOptions& options, std::source_location where) {
  const std::int64_t count = values.count;
  return issue({.collective = Collective::kBroadcast, .values = std::move(values), .root = root, .count = count},
               options, where);
}

Work ProcessGroup::reduce(Buffer values, int root, ReduceOp op, const CollectiveOptions& options,
                          std::source_location where) {
  const std::int64_t count = values.count;
  return issue({.collective = Collective::kReduce, .values = std::move(values), .op = op, .root = root, .count = count},
               options, where);
}

Work ProcessGroup::all_gather(Buffer output, Buffer input, const CollectiveOptions& options,
                              std::source_location where) {
  require(output.count == input.count * world_size(), "all_gather: output has ", output.count, " elements; ",
          world_size(), " ranks contribute ", input.count, " each");
  require(output.dtype == input.dtype, "all_gather: output is ", output.dtype, ", input ", input.dtype);
  require(is_part(input, output, rank()) || !overlap(input, output),
          "all_gather: input overlaps output, but is not this rank's part of it");
  const std::int64_t count = input.count;
  return issue(
      {.collective = Collective::kAllGather, .values = std::move(output), .input = std::move(input), .count = count},
      options, where);
}

Work ProcessGroup::reduce_scatter(Buffer output, Buffer input, ReduceOp op, const CollectiveOptions& options,
                                  std::source_location where) {
  require(input.count == output.count * world_size(), "reduce_scatter: input has ", input.count, " elements; ",
          world_size(), " ranks get ", output.count, " each");
  require(output.dtype == input.dtype, "reduce_scatter: output is ", output.dtype, ", input ", input.dtype);
  require(is_part(output, input, rank()) || !overlap(input, output),
          "reduce_scatter: output overlaps input, but is not this rank's part of it");
  const std::int64_t count = output.count;
  return issue({.collective = Collective::kReduceScatter,
                .values = std::move(output),
                .input = std::move(input),
                .op = op,
                .count = count},
               options, where);
}

Work ProcessGroup::gather(Buffer output, Buffer input, int root, const CollectiveOptions& options,
                          std::source_location where) {
  if (rank() == root) {
    require(output.count == input.count * world_size(), "gather: output has ", output.count, " elements; ",
            world_size(), " ranks contribute ", input.count, " each");
    require(output.dtype == input.dtype, "gather: output is ", output.dtype, ", input ", input.dtype);
    require(is_part(input, output, rank()) || !overlap(input, output),
            "gather: input overlaps output, but is not this rank's part of it");
  } else {
    output = {.data = nullptr, .count = 0, .dtype = input.dtype, .device = input.device, .keep_alive = nullptr};
  }
  const std::int64_t count = input.count;
  return issue({.collective = Collective::kGather,
                .values = std::move(output),
                .input = std::move(input),
                .root = root,
                .count = count},
               options, where);
}

Work ProcessGroup::scatter(Buffer output, Buffer input, int root, const CollectiveOptions& options,
                           std::source_location where) {
  if (rank() == root) {
    require(input.count == output.count * world_size(), "scatter: input has ", input.count, " elements; ", world_size(),
            " ranks get ", output.count, " each");
    require(output.dtype == input.dtype, "scatter: output is ", output.dtype, ", input ", input.dtype);
    require(is_part(output, input, rank()) || !overlap(input, output),
            "scatter: output overlaps input, but is not this rank's part of it");
  } else {
    input = {.data = nullptr, .count = 0, .dtype = output.dtype, .device = output.device, .keep_alive = nullptr};
  }
  const std::int64_t count = output.count;
  return issue({.collective = Collective::kScatter,
                .values = std::move(output),
                .input = std::move(input),
                .root = root,
                .count = count},
               options, where);
}

Work ProcessGroup::all_to_all(Buffer output, Buffer input, const CollectiveOptions& options,
                              std::source_location where) {
  require(output.count == input.count, "all_to_all: output has ", output.count, " elements, input ", input.count);
  require(input.count % world_size() == 0, "all_to_all: ", input.count, " elements do not divide among ", world_size(),
          " ranks");
  require(output.dtype == input.dtype, "all_to_all: output is ", output.dtype, ", input ", input.dtype);
  require(!overlap(input, output), "all_to_all: input overlaps output");
  const std::int64_t count = input.count / world_size();
  return issue(
      {.collective = Collective::kAllToAll, .values = std::move(output), .input = std::move(input), .count = count},
      options, where);
}

Work ProcessGroup::send(Buffer values, int peer, const CollectiveOptions& options, std::source_location where) {
  require(peer != rank(), "send: rank ", rank(), " cannot send to itself");
  const std::int64_t count = values.count;
  return issue({.collective = Collective::kSend, .values = std::move(values), .root = peer, .count = count}, options,
               where);
}

Work ProcessGroup::recv(Buffer values, int peer, const CollectiveOptions& options, std::source_location where) {
  require(peer != rank(), "recv: rank ", rank(), " cannot receive from itself");
  const std::int64_t count = values.count;
  return issue({.collective = Collective::kRecv, .values = std::move(values), .root = peer, .count = count}, options,
               where);
}

Work ProcessGroup::barrier(const CollectiveOptions& options, std::source_location where) {
  return issue(Call{}, options, where);
}

void ProcessGroup::monitored_barrier(std::chrono::milliseconds timeout, std::source_location where) {
  require_no_open_group("monitored_barrier");
  barrier({.deadline = Deadline::after(timeout), .run_on = RunOn::kCaller}, where).synchronize();
}

std::shared_ptr<Storage> ProcessGroup::allocate(std::size_t bytes, Device device) {
  return Storage::allocate(bytes, device);
}

void ProcessGroup::prepare_common_error(const std::string& message, int culprit, std::source_location where) noexcept {
  try {
    barrier({}, where).synchronize();
  } catch (const Error&) {
    return;  // another rank knows already and has left, so this rank knows too
  }
  if (!context_.control) return;
  context_.control->set_last_words({FailureKind::kAborted, culprit < 0 ? -1 : context_.global_rank(culprit), message});
}

std::unique_ptr<ProcessGroup> ProcessGroup::split(int color, int key) {
  require_no_open_group("split");
  require(color >= 0 || color == kNoColor, "split: color ", color, " is negative");
  struct Choice {
    std::int64_t color, key, rank, next_split;
  };
  constexpr auto kFields = static_cast<std::int64_t>(sizeof(Choice) / sizeof(std::int64_t));
  Choice own{color, key, rank(), context_.control ? context_.control->next_split() : 0};
  std::vector<Choice> choices(static_cast<std::size_t>(world_size()));
  all_gather({choices.data(), kFields * world_size(), DType::kInt64, Device{}, nullptr},
             {&own, kFields, DType::kInt64, Device{}, nullptr})
      .synchronize();

  std::ranges::sort(choices, {}, [](const Choice& choice) { return std::tuple(choice.key, choice.rank); });
  JobContext context = context_;
  context.global_ranks.clear();
  for (const Choice& choice : choices) {
    if (choice.color != color) continue;
    if (choice.rank == rank()) context.rank = static_cast<int>(context.global_ranks.size());
    context.global_ranks.push_back(context_.global_rank(static_cast<int>(choice.rank)));
  }
  // Ranks that took part in different splits before continue from the largest number that any of them has reached.
  const auto split = static_cast<int>(std::ranges::max(choices, {}, &Choice::next_split).next_split);
  const int first_member = context.global_ranks.front();  // if this rank joins none: of the ranks that join none
  context.group_id = context_.control ? context_.control->take_part_in_split(split, first_member) : 0;
  if (color == kNoColor) return nullptr;
  context.world_size = static_cast<int>(context.global_ranks.size());
  if (context_.control) context_.control->register_group(*context.group_id, context.global_ranks);
  if (context_.flight_recorder) context_.flight_recorder->note_group(*context.group_id, context.global_ranks);
  return do_split(std::move(context));
}

}  // namespace lockstep::comm
