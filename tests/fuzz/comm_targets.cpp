#include "fuzz/comm_targets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "comm/control/hub.hpp"
#include "comm/control/wire.hpp"
#include "comm/fingerprint.hpp"
#include "comm/joining/init_method.hpp"
#include "net/bytes.hpp"

namespace lockstep::comm {

// The ranks of a job of three, played at a hub that takes a step whenever one of them has sent something.
class HubHarness {
 public:
  HubHarness() : hub_(context(), Deadline::never()) {
    for (int rank = 0; rank < kWorldSize; ++rank) {
      std::array<int, 2> ends{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw IoError("socketpair", errno);
      hub_.admit({net::StreamSocket(UniqueFd(ends[0]), "stranger"), {net::Role::kControl, 0, rank, 0}});
      ranks_.emplace_back(net::StreamSocket(UniqueFd(ends[1]), "hub"), net::FrameLimits{kMaxControlBytes, 0});
    }
  }

  void send(int rank, std::span<const std::byte> bytes) {
    if (rank < 0 || rank >= kWorldSize || !hub_.connections_.is_open(rank)) return;
    ranks_[static_cast<std::size_t>(rank)].send({.type = net::FrameType::kControl, .source_rank = rank}, bytes);
    hub_.last_look_ = {};  // long ago: it judges at every step
    hub_.step();
  }

  // The hub's messages to all ranks. Throws FormatError for what no member could read.
  std::vector<ControlMessage> replies() {
    std::vector<ControlMessage> messages;
    for (net::FrameStream& rank : ranks_) {
      try {
        while (const auto frame = rank.receive()) messages.push_back(decode_control(frame->payload));
      } catch (const IoError&) {  // the hub has closed the connection
      }
    }
    return messages;
  }

  static constexpr int kWorldSize = 3;

 private:
  static JobContext context() {
    ::setenv("LOCKSTEP_LOG", "error", 1);  // it may say a lot
    JobContext context;
    context.world_size = kWorldSize;
    context.limits.progress_report = std::chrono::milliseconds(1000);
    return context;
  }

  ControlPlane::Hub hub_;
  std::vector<net::FrameStream> ranks_;
};

}  // namespace lockstep::comm

namespace lockstep::fuzz {
namespace {

constexpr std::size_t kTagBytes = std::tuple_size_v<net::FrameTag>;

// The first line is the init method, each further one a variable: "RANK=0".
struct Surroundings {
  std::string init_method;
  std::map<std::string, std::string> variables;
};

Surroundings surroundings_of(const std::string& text) {
  Surroundings surroundings;
  std::istringstream stream(text);
  std::getline(stream, surroundings.init_method);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) surroundings.variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return surroundings;
}

std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = net::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

bool is_port(const net::SocketAddress& address) { return address.port >= 1 && address.port <= 65535; }

std::vector<std::byte> bytes_of_tag(const comm::Fingerprint& fingerprint) {
  const net::FrameTag tag = comm::to_tag(fingerprint);
  return {tag.begin(), tag.end()};
}

}  // namespace

void run_fingerprint(Input input) {
  if (input.size() != kTagBytes) return;
  net::FrameTag tag{};
  std::ranges::copy(input, tag.begin());
  try {
    const comm::Fingerprint fingerprint = comm::from_tag(1, tag);
    finding_unless(comm::to_tag(fingerprint) == tag, "a fingerprint reads as what it is not");
    finding_unless(!comm::describe(fingerprint).empty(), "a fingerprint without words");
  } catch (const FormatError&) {
  }
}

Seeds fingerprint_seeds() {
  return {bytes_of_tag({.collective = comm::Collective::kAllReduce, .op = comm::ReduceOp::kMean, .count = 1000}),
          bytes_of_tag({.collective = comm::Collective::kBroadcast, .root = 3, .count = 1}),
          bytes_of_tag({.collective = comm::Collective::kBarrier})};
}

void run_control_wire(Input input) {
  try {
    const comm::ControlMessage message = comm::decode_control(input);
    finding_unless(std::ranges::equal(comm::encode(message), input), "a control message reads as what it is not");
    const auto rank_of = [](int, int rank) { return rank; };
    finding_unless(!comm::describe_status(message.status, rank_of).empty(), "a status without words");
  } catch (const FormatError&) {
  }
}

Seeds control_wire_seeds() {
  using comm::ControlType;
  comm::ControlMessage status{.type = ControlType::kStatus, .status = {}, .failure = {}};
  const comm::Fingerprint operation{.sequence = 8, .collective = comm::Collective::kBroadcast, .root = 4, .count = 10};
  const comm::Fingerprint message{.sequence = 1, .collective = comm::Collective::kRecv, .root = 1, .count = 9};
  status.status[2].issued = operation;
  status.status[2].running = operation;
  status.status[2].running_for = std::chrono::milliseconds(1234);
  status.status[5].pairs = {{message, std::chrono::milliseconds(7)}};
  status.status[5].begun = {{{comm::Collective::kSend, 1}, 3}, {{comm::Collective::kRecv, 0}, 9}};
  const comm::ControlMessage abort{
      .type = ControlType::kAbort, .status = status.status, .failure = {comm::FailureKind::kTimeout, 3, "why"}};
  const comm::ControlMessage group{
      .type = ControlType::kGroup, .status = {}, .failure = {}, .group = 4, .members = {3, 1}};
  return {comm::encode(status), comm::encode(abort), comm::encode(group), comm::encode(comm::ControlMessage{})};
}

// Input: messages, each a rank u8, a length u16 and the bytes of a control message.
void run_control_hub(Input input) {
  comm::HubHarness harness;
  try {
    for (net::ByteReader reader(input); !reader.rest().empty();) {
      const int rank = reader.get<std::uint8_t>();
      harness.send(rank, reader.get_bytes(reader.get<std::uint16_t>()));
    }
  } catch (const FormatError&) {  // of this input's own frame around the messages
  }
  for (const comm::ControlMessage& reply : harness.replies()) {
    const int culprit = reply.failure.culprit;
    finding_unless(culprit >= -1 && culprit < comm::HubHarness::kWorldSize, "a rank is blamed that does not exist");
  }
}

Seeds control_hub_seeds() {
  using comm::ControlType;
  const auto played = [](const std::vector<std::pair<int, comm::ControlMessage>>& messages) {
    net::ByteWriter writer;
    for (const auto& [rank, message] : messages) {
      const auto bytes = comm::encode(message);
      writer.put(static_cast<std::uint8_t>(rank)).put(static_cast<std::uint16_t>(bytes.size())).put_bytes(bytes);
    }
    return writer.take();
  };
  const auto of_type = [](ControlType type) { return comm::ControlMessage{.type = type, .status = {}, .failure = {}}; };
  const auto group = [&](std::vector<int> members) {
    comm::ControlMessage message = of_type(ControlType::kGroup);
    message.group = 4;
    message.members = std::move(members);
    return message;
  };
  const auto in_call = [&](comm::Collective collective) {
    comm::ControlMessage message = of_type(ControlType::kStatus);
    message.status[4].issued = message.status[4].running = comm::Fingerprint{.sequence = 8, .collective = collective};
    message.status[4].running_for = std::chrono::milliseconds(5000);
    return message;
  };
  comm::ControlMessage receiving = of_type(ControlType::kStatus);
  const comm::Fingerprint receive{.sequence = 1, .collective = comm::Collective::kRecv, .root = 1, .count = 9};
  receiving.status[4].pairs = {{receive, std::chrono::milliseconds(5000)}};
  comm::ControlMessage posting = of_type(ControlType::kPosted);
  posting.group = 4;
  posting.calls = {{.sequence = 0, .collective = comm::Collective::kBarrier},
                   {.sequence = 0, .collective = comm::Collective::kSend, .root = 1, .count = 3}};
  comm::ControlMessage giving_up = in_call(comm::Collective::kBarrier);
  giving_up.type = ControlType::kAbort;
  giving_up.failure = {comm::FailureKind::kTimeout, -1, "why"};
  comm::ControlMessage forgetting = in_call(comm::Collective::kBarrier);
  forgetting.type = ControlType::kForget;
  forgetting.group = 4;
  const auto pair = group({2, 0});
  return {played({{0, pair}, {2, pair}, {0, in_call(comm::Collective::kBarrier)}, {2, receiving}}),
          played({{0, pair},
                  {2, pair},
                  {0, in_call(comm::Collective::kBarrier)},
                  {2, in_call(comm::Collective::kAllReduce)},
                  {0, in_call(comm::Collective::kBarrier)}}),
          played({{0, pair}, {0, posting}, {2, pair}, {2, posting}, {1, of_type(ControlType::kGoodbye)}}),
          played({{1, giving_up},
                  {0, in_call(comm::Collective::kBarrier)},
                  {2, of_type(ControlType::kStatus)},
                  {1, of_type(ControlType::kStatus)}}),
          played({{0, receiving}, {1, of_type(ControlType::kGoodbye)}, {2, of_type(ControlType::kHeartbeat)}}),
          played({{0, pair}, {2, pair}, {0, forgetting}, {2, in_call(comm::Collective::kBarrier)}, {2, forgetting}})};
}

void run_init_method(Input input) {
  const Surroundings surroundings = surroundings_of(net::to_text(input));
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = surroundings.variables.find(name);
    if (found == surroundings.variables.end() || found->second.empty()) return std::nullopt;
    return found->second;
  };
  try {
    const comm::Membership member = comm::read_membership(surroundings.init_method, {}, lookup);
    finding_unless(member.world_size >= 1 && member.world_size <= comm::kMaxWorldSize, "no world size");
    finding_unless(member.rank >= 0 && member.rank < member.world_size, "not a rank of this job");
    finding_unless(member.local_rank >= 0 && member.local_rank < member.local_world_size, "no local rank");
    finding_unless(member.local_world_size <= member.world_size, "more local ranks than ranks");
    const bool needs_address = member.world_size > 1 && member.store_file.empty() && !member.running_store;
    finding_unless(!needs_address || is_port(member.store), "no port to meet at");
    finding_unless(member.store_file.empty() || member.store_file.is_absolute(), "a file somewhere");
  } catch (const FormatError&) {
  }
  try {
    const comm::JobLimits limits = comm::read_limits(lookup);
    for (const auto limit : {limits.join, limits.liveness, limits.progress_report, limits.progress}) {
      finding_unless(limit.count() > 0, "a limit of nothing");
    }
  } catch (const FormatError&) {
  }
}

Seeds init_method_seeds() {
  Seeds seeds;
  for (const char* text :
       {"env://\nRANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nMASTER_ADDR=host\nMASTER_PORT=29500\n",
        "env://\nRANK=0\nWORLD_SIZE=2\nMASTER_ADDR=host\nMASTER_PORT=29500\nTORCHELASTIC_RUN_ID=x\nLOCKSTEP_PORT=1",
        "env://\nOMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
        "OMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_NAMESPACE=434438145",
        "env://\nPMI_RANK=1\nPMI_SIZE=2\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\nMASTER_ADDR=::1\nMASTER_PORT=1",
        "env://\nSLURM_PROCID=3\nSLURM_NTASKS=6\nSLURM_LOCALID=1\nSLURM_NODEID=1\nSLURM_STEP_TASKS_PER_NODE=2(x3)\n"
        "SLURM_STEP_NODELIST=node[07-09,12],other\nSLURM_JOB_ID=77\nSLURM_STEP_ID=2",
        "env://\nLOCKSTEP_STORE=127.0.0.1:4000\nRANK=0\nWORLD_SIZE=2\nLOCKSTEP_GENERATION=3",
        "env://\nLOCKSTEP_JOIN_SECONDS=0.5\nLOCKSTEP_LIVENESS_SECONDS=1e3\nLOCKSTEP_DEBUGGER=1",
        "tcp://[::1]:5000?rank=1&world_size=2\n", "tcp://host:5000\nRANK=1\nWORLD_SIZE=2",
        "file:///tmp/meeting?world_size=2&rank=0\n", "file:///tmp/meeting\nSLURM_PROCID=0\nSLURM_NTASKS=2"}) {
    seeds.push_back(bytes_of_text(text));
  }
  return seeds;
}

}  // namespace lockstep::fuzz
