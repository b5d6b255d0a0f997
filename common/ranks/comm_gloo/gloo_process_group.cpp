#include "comm_gloo/gloo_process_group.hpp"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/host/host_process_group.hpp"
#include "comm/host/tcp_transport.hpp"
#include "comm/reduce.hpp"
#include "comm/rendezvous.hpp"
#include "comm_gloo/gloo_connection.hpp"
#include "net/frame.hpp"

namespace lockstep::gloo_backend {
namespace {

// Gloo's form of result[i] = left[i] op right[i]; `result` may be `left` or `right`.
using ReduceFunction = std::function<void(void*, const void*, const void*, std::size_t)>;

ReduceFunction reduce_function(DType dtype, comm::ReduceOp op) {
  return [dtype, op](void* result, const void* left, const void* right, std::size_t count) {
    if (result == right) std::swap(left, right);
    if (result != left) std::memcpy(result, left, count * bytes_of(dtype));
    comm::reduce_into(result, right, static_cast<std::int64_t>(count), dtype, op);
  };
}

// Gloo distinguishes elements only by width. Calls `body` with a pointer to an element of that width: `data`.
template <typename Body>
void with_width(DType dtype, void* data, Body body) {
  switch (bytes_of(dtype)) {
    case 2:
      return body(static_cast<std::uint16_t*>(data));
    case 4:
      return body(static_cast<std::uint32_t*>(data));
    case 8:
      return body(static_cast<std::uint64_t*>(data));
    default:
      throw ContractError(concat(dtype, " is for copying only"));
  }
}

std::uint8_t* data_of(std::span<std::byte> bytes) { return reinterpret_cast<std::uint8_t*>(bytes.data()); }

class GlooProcessGroup final : public comm::HostProcessGroup {
 public:
  explicit GlooProcessGroup(comm::JobContext context);
  ~GlooProcessGroup() override { shutdown(); }

  [[nodiscard]] std::string_view backend() const noexcept override { return "gloo"; }

 private:
  void run_all_reduce(const Call& call) override;
  void run_broadcast(const Call& call) override;
  void run_reduce(const Call& call) override;
  void run_all_gather(const Call& call) override;
  void run_reduce_scatter(const Call& call) override;
  void run_barrier(const Call& call) override;
  void run_gather(const Call& call) override;
  void run_scatter(const Call& call) override;
  void run_all_to_all(const Call& call) override;
  void interrupt() noexcept override;
  std::unique_ptr<comm::ProcessGroup> do_split(comm::JobContext context) override {
    return make_gloo_process_group(std::move(context));
  }

  using Context = std::shared_ptr<::gloo::Context>;
  // Runs `body` with Gloo's context and converts Gloo's exceptions to ours. Without elements, ranks would not wait for
  // each other in `body`, so it runs a barrier instead.
  void run(const Call& call, const std::function<void(const Context&)>& body);
  void sum_over_ranks(const Call& call, std::span<std::byte> values);
  void wait_for_all(const Call& call, const Context& context) const;
  [[nodiscard]] std::uint32_t tag_of(const Call& call) const;
  [[nodiscard]] std::string others() const;

  comm::Transport* messages_ = nullptr;     // owned by the base class
  std::unique_ptr<Connection> connection_;  // null if world_size is 1
};

// Sends and recvs use our own messages: their headers name the operation, and they arrive in the order that recv()
// promises, whatever comes between them. Gloo's buffers would need one tag for all sends of a pair.
GlooProcessGroup::GlooProcessGroup(comm::JobContext context) : HostProcessGroup(std::move(context)) {
  constexpr std::int64_t kSegmentBytes = 256 * 1024;
  const std::string group = concat("gloo/", group_id());
  comm::warn_unauthenticated(this->context(), "gloo");
  if (world_size() > 1) connection_ = std::make_unique<Connection>(this->context(), group + "/mesh");
  auto messages = std::make_unique<comm::TcpTransport>(this->context(), group, std::set<int>{},
                                                       Deadline::after(this->context().limits.join));
  messages_ = messages.get();
  use(std::move(messages), kSegmentBytes);
}

void GlooProcessGroup::interrupt() noexcept {
  messages_->interrupt();
  if (connection_) connection_->interrupt();
}

// Part of every message's slot, so that messages of other collectives, or of the same one with another count, are not
// accepted. Two of them have equal 32-bit tags once in four thousand million.
std::uint32_t GlooProcessGroup::tag_of(const Call& call) const {
  const net::FrameHeader header = call.header(rank(), context().generation);
  std::array<std::byte, sizeof header.sequence + sizeof header.tag> bytes{};
  std::memcpy(bytes.data(), &header.sequence, sizeof header.sequence);
  std::memcpy(bytes.data() + sizeof header.sequence, header.tag.data(), sizeof header.tag);
  return static_cast<std::uint32_t>(net::checksum(bytes));
}

std::string GlooProcessGroup::others() const {
  std::string names;
  for (int peer = 0; peer < world_size(); ++peer) {
    if (peer != rank()) names += concat(names.empty() ? "" : ", ", "rank ", context().global_rank(peer));
  }
  return names;
}

void GlooProcessGroup::run(const Call& call, const std::function<void(const Context&)>& body) {
  if (!connection_) return;
  const PipeSignalBlocked is_blocked;
  const auto translated = [&](const char* what) {
    if (call.deadline.has_expired())
      throw TimeoutError(concat("not complete after ", format_seconds(call.deadline.waited())));
    // Gloo names an address instead of a rank.
    throw comm::LinkError(concat("Gloo: ", what, " (the others are ", others(), ")"));
  };
  try {
    const Context& context = connection_->begin(call.deadline);
    call.values.bytes() == 0 && call.input.bytes() == 0 ? wait_for_all(call, context) : body(context);
  } catch (const ::gloo::Exception& error) {
    translated(error.what());
  } catch (const ::gloo::EnforceNotMet& error) {
    translated(error.what());
  }
}

void GlooProcessGroup::wait_for_all(const Call& call, const Context& context) const {
  ::gloo::BarrierOptions options(context);
  options.setTag(tag_of(call));
  ::gloo::barrier(options);
}

void GlooProcessGroup::run_barrier(const Call& call) {
  run(call, [&](const Context& context) { wait_for_all(call, context); });
}

// For kMean, leaves the sum.
void GlooProcessGroup::sum_over_ranks(const Call& call, std::span<std::byte> values) {
  const DType dtype = call.values.dtype;
  run(call, [&](const Context& context) {
    with_width(dtype, values.data(), [&](auto* data) {
      ::gloo::AllreduceOptions options(context);
      options.setOutput(data, values.size() / bytes_of(dtype));
      options.setReduceFunction(reduce_function(dtype, call.op));
      options.setTag(tag_of(call));
      ::gloo::allreduce(options);
    });
  });
}

void GlooProcessGroup::run_all_reduce(const Call& call) {
  sum_over_ranks(call, comm::bytes_of(call.values));
  comm::finish_mean(call.values.data, call.values.count, call.values.dtype, call.op, world_size());
}

// Gloo's reduce-scatter supports only sums of floats: instead, each rank reduces the whole input and keeps its part.
void GlooProcessGroup::run_reduce_scatter(const Call& call) {
  const std::span<std::byte> input = comm::bytes_of(call.input);
  if (world_size() == 1) return comm::copy_bytes(comm::bytes_of(call.values), input);
  std::vector<std::byte> sums(input.begin(), input.end());  // a copy, so that the input does not change
  sum_over_ranks(call, sums);
  const comm::Buffer whole{sums.data(), call.input.count, call.input.dtype, Device{}, nullptr};
  comm::copy_bytes(comm::bytes_of(call.values), comm::part_of(whole, rank(), world_size()));
  comm::finish_mean(call.values.data, call.values.count, call.values.dtype, call.op, world_size());
}

void GlooProcessGroup::run_reduce(const Call& call) {
  const DType dtype = call.values.dtype;
  const auto count = static_cast<std::size_t>(call.values.count);
  const bool is_root = rank() == call.root;
  std::vector<std::byte> scratch(is_root ? 0 : comm::bytes_of(call.values).size());  // for the ring
  run(call, [&](const Context& context) {
    with_width(dtype, call.values.data, [&](auto* data) {
      using Element = std::remove_pointer_t<decltype(data)>;
      ::gloo::ReduceOptions options(context);
      if (!is_root) options.setInput(data, count);
      options.setOutput(is_root ? data : reinterpret_cast<Element*>(scratch.data()), count);
      options.setReduceFunction(reduce_function(dtype, call.op));
      options.setRoot(call.root);
      options.setTag(tag_of(call));
      ::gloo::reduce(options);
    });
  });
  if (is_root) comm::finish_mean(call.values.data, call.values.count, dtype, call.op, world_size());
}

void GlooProcessGroup::run_broadcast(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  run(call, [&](const Context& context) {
    ::gloo::BroadcastOptions options(context);
    options.setOutput(data_of(values), values.size());
    options.setRoot(call.root);
    options.setTag(tag_of(call));
    ::gloo::broadcast(options);
  });
}

void GlooProcessGroup::run_all_gather(const Call& call) {
  const std::span<std::byte> values = comm::bytes_of(call.values);
  comm::copy_bytes(comm::part_of(call.values, rank(), world_size()), comm::bytes_of(call.input));
  if (world_size() == 1) return;
  run(call, [&](const Context& context) {
    ::gloo::AllgatherOptions options(context);
    options.setOutput(data_of(values), values.size());  // contains this rank's part
    options.setTag(tag_of(call));
    ::gloo::allgather(options);
  });
}

void GlooProcessGroup::run_gather(const Call& call) {
  const std::span<std::byte> input = comm::bytes_of(call.input);
  if (world_size() == 1) return comm::copy_bytes(comm::bytes_of(call.values), input);
  run(call, [&](const Context& context) {
    ::gloo::GatherOptions options(context);
    options.setInput(data_of(input), input.size());
    if (rank() == call.root)
      options.setOutput(data_of(comm::bytes_of(call.values)), comm::bytes_of(call.values).size());
    options.setRoot(call.root);
    options.setTag(tag_of(call));
    ::gloo::gather(options);
  });
}

void GlooProcessGroup::run_scatter(const Call& call) {
  const std::span<std::byte> output = comm::bytes_of(call.values);
  if (world_size() == 1) return comm::copy_bytes(output, comm::bytes_of(call.input));
  run(call, [&](const Context& context) {
    ::gloo::ScatterOptions options(context);
    std::vector<std::uint8_t*> parts;
    for (int peer = 0; peer < world_size() && rank() == call.root; ++peer) {
      parts.push_back(data_of(comm::part_of(call.input, peer, world_size())));
    }
    options.setInputs(parts, output.size());
    options.setOutput(data_of(output), output.size());
    options.setRoot(call.root);
    options.setTag(tag_of(call));
    ::gloo::scatter(options);
  });
}

void GlooProcessGroup::run_all_to_all(const Call& call) {
  const std::span<std::byte> input = comm::bytes_of(call.input);
  if (world_size() == 1) return comm::copy_bytes(comm::bytes_of(call.values), input);
  run(call, [&](const Context& context) {
    ::gloo::AlltoallOptions options(context);
    options.setInput(data_of(input), input.size());
    options.setOutput(data_of(comm::bytes_of(call.values)), input.size());
    options.setTag(tag_of(call));
    ::gloo::alltoall(options);
  });
}

}  // namespace

std::unique_ptr<comm::ProcessGroup> make_gloo_process_group(comm::JobContext context) {
  return std::make_unique<GlooProcessGroup>(std::move(context));
}

}  // namespace lockstep::gloo_backend
