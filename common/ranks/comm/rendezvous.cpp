#include "comm/rendezvous.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/flight_recorder/flight_folder.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/flight_recorder/report_signal.hpp"
#include "comm/joining/init_method.hpp"
#include "comm/joining/join_barrier.hpp"
#include "net/descriptor_limit.hpp"
#include "net/guarded_listener.hpp"
#include "net/interfaces.hpp"
#include "net/token.hpp"
#include "store/file_store.hpp"
#include "store/prefix_store.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::comm {
namespace {

// How long rank 0 keeps the store for ranks that finish later.
constexpr std::chrono::seconds kStayLimit{2};

// Rank 0's store: server and client in one. The client is destroyed first; the server stays until the others have gone.
struct HostedStore {
  std::unique_ptr<store::TcpStoreServer> server;
  std::unique_ptr<store::TcpStore> client;

  ~HostedStore() {
    client.reset();
    if (server) server->wait_until_unused(Deadline::after(kStayLimit));
  }
};

std::unique_ptr<store::TcpStoreServer> serve_store(const Membership& member, const std::string& token,
                                                   const Deadline& deadline) {
  try {
    const net::SocketAddress address = net::listening_address(member.store, deadline);
    return std::make_unique<store::TcpStoreServer>(address, token, member.generation);
  } catch (const TimeoutError& error) {
    throw TimeoutError(concat("rank 0: ", error.what()));
  } catch (const FormatError& error) {
    throw FormatError(concat("rank 0: ", error.what(), "; MASTER_ADDR must name the host of rank 0"));
  } catch (const IoError& error) {
    throw IoError(concat("rank 0: ", error.what(), "; if another job runs there, choose another MASTER_PORT"));
  }
}

std::unique_ptr<store::TcpStore> connect_store(const Membership& member, const std::string& token,
                                               const Deadline& deadline) {
  const net::SocketAddress address = member.running_store.value_or(member.store);
  try {
    return std::make_unique<store::TcpStore>(address, token, member.generation, member.rank, deadline);
  } catch (const TimeoutError& error) {
    const char* const question =
        member.running_store ? "; is the launcher, which answers there, stopped (Ctrl-Z)?"
                             : "; has rank 0 started, and are MASTER_ADDR and MASTER_PORT the same on all ranks?";
    throw TimeoutError(concat("rank ", member.rank, ": ", error.what(), question));
  } catch (const FormatError& error) {
    throw FormatError(concat("rank ", member.rank, ": ", error.what()));
  }
}

// Holds the address by which a rank of another host reached the store's host.
std::string store_host_key(const Membership& member) {
  return concat("generation/", member.generation, "/join/store_host");
}

void open_tcp_store(JobContext& context, const Membership& member, const RendezvousOptions& options,
                    const Deadline& deadline) {
  context.token = options.token ? *options.token : net::find_token(member.running_store.value_or(member.store));
  auto hosted = std::make_shared<HostedStore>();
  if (member.rank == 0 && !member.running_store) hosted->server = serve_store(member, context.token, deadline);
  hosted->client = connect_store(member, context.token, deadline);
  context.store = std::shared_ptr<store::Store>(hosted, hosted->client.get());
  // Peers reach this rank by its address on the store's network, unless the user gives another.
  const std::string seen = hosted->client->local_address().host;
  context.bind_address = net::given_bind_address(seen).value_or(seen);
  const auto server = hosted->client->server_address();
  if (server && !net::is_loopback(seen)) context.store->compare_set(store_host_key(member), "", server->host);
}

// A rank that reached the store by loopback is on the store's host. Once all ranks have arrived, a rank of another
// host, if there is one, has published the address by which it reached that host.
void leave_loopback(JobContext& context, const Membership& member) {
  if (!net::is_loopback(context.bind_address)) return;
  const auto address = context.store->try_get(store_host_key(member));
  if (!address || net::is_loopback(*address)) return;
  const auto fail = [&](const std::string& reason) {
    throw FormatError(concat("rank ", member.rank, ": ", reason, "; set LOCKSTEP_INTERFACE to the network interface ",
                             "by which other hosts reach this one: ", net::describe(net::interface_addresses())));
  };
  const bool is_given = net::given_bind_address().has_value();
  if (is_given && member.local_world_size == member.world_size) return;  // all ranks are on this host
  if (is_given) fail(concat("ranks of other hosts cannot reach ", context.bind_address));
  if (!net::is_own_address(*address)) {
    fail(concat("ranks of other hosts reach this one as ", *address, ", which is not its address (is it translated?)"));
  }
  context.bind_address = *address;
}

// The file is this user's alone, so it may hold the token. The user sets addresses, because a file has none.
void open_file_store(JobContext& context, const Membership& member, const RendezvousOptions& options,
                     const Deadline& deadline) {
  context.store = std::make_shared<store::FileStore>(member.store_file, deadline);
  const auto given = options.token ? options.token : net::given_token();
  context.token = given ? *given : context.store->compare_set("token", "", net::make_token());
  context.bind_address = net::given_bind_address().value_or("127.0.0.1");
}

// Ranks of several hosts that all listen on loopback would look for each other in vain.
void check_reachable(const JobContext& context, JoinBarrier& barrier, const Deadline& deadline) {
  if (!net::is_loopback(context.bind_address)) return;
  const std::string hub = barrier.host_of(0, deadline), own = barrier.host_of(context.rank, deadline);
  if (hub == own) return;
  throw FormatError(concat("rank ", context.rank, " is on host ", own, " and rank 0 on ", hub, ", which cannot reach ",
                           "each other at ", context.bind_address,
                           "; set LOCKSTEP_INTERFACE on each rank to a network ",
                           "interface that the others can reach: ", net::describe(net::interface_addresses())));
}

// A rank may get a connection to each other one. Rank 0 has two from each, for store and control plane, and requires
// them.
void raise_descriptor_limit(const JobContext& context) {
  constexpr std::uint64_t kOthers = 64;  // files, devices, standard streams
  const auto world_size = static_cast<std::uint64_t>(context.world_size);
  if (context.rank == 0) net::require_descriptors(2 * world_size + kOthers, concat("rank 0 of ", world_size, " ranks"));
  net::raise_descriptor_limit((context.rank == 0 ? 3 : 1) * world_size + kOthers + net::GuardedListener::kMaxStrangers);
}

// By torchrun, mpirun, srun or by hand: our launcher sets the folder for records, and programs that start their own
// ranks pass them the meeting point.
bool is_started_by_others(const Membership& member, const std::string& init_method) {
  return init_method == "env://" && member.world_size > 1 && !member.running_store;
}

bool meets_in_file(const Membership& member) { return !member.store_file.empty() && !member.running_store; }

// A rank that joins again may be ahead of rank 0 and find the store of the job that it left just before rank 0 closes
// it. The next store has the same address. Returns false if this has happened.
bool check_in(JoinBarrier& barrier, const Membership& member, const Deadline& deadline) {
  try {
    barrier.check_in(deadline);
    return true;
  } catch (const IoError&) {
    const bool is_served_by_another = member.rank != 0 && !member.running_store && !meets_in_file(member);
    if (!is_served_by_another || barrier.meetings_before() == 0 || deadline.has_expired()) throw;
    return false;
  }
}

// Meets the others at the store. Returns false if the store was that of an earlier job: try again.
bool join_once(JobContext& context, const Membership& member, const RendezvousOptions& options,
               const Deadline& deadline) {
  if (meets_in_file(member))
    open_file_store(context, member, options, deadline);
  else
    open_tcp_store(context, member, options, deadline);

  JoinBarrier barrier(*context.store, member);
  if (!check_in(barrier, member, deadline)) return false;
  if (meets_in_file(member))
    check_reachable(context, barrier, deadline);
  else
    leave_loopback(context, member);
  if (member.rank == 0) {
    const std::string differences = barrier.differences(deadline);
    if (!differences.empty()) context.log.warning(differences);
  }
  if (barrier.meetings_before() > 0) {
    context.store = std::make_shared<store::PrefixStore>(barrier.renewal(), std::move(context.store));
  }
  return true;
}

// Null if it cannot be made (disk full, folder removed): a record never ends a run.
std::shared_ptr<FlightRecorder> record_in(const std::string& folder, const JobContext& context) try {
  return std::make_shared<FlightRecorder>(folder, context.rank, context.world_size, context.generation);
} catch (const IoError& error) {
  context.log.warning(concat("no record of collectives: ", error.what()));
  return nullptr;
}

JobContext basic_context(const Membership& member, const RendezvousOptions& options, const std::string& init_method) {
  JobContext context;
  context.rank = member.rank;
  context.world_size = member.world_size;
  context.local_rank = member.local_rank;
  context.local_world_size = member.local_world_size;
  context.generation = member.generation;
  context.limits = options.limits ? *options.limits : limits_from_environment();
  context.log = Logger(member.world_size > 1 ? concat("rank ", member.rank) : "");
  if (const auto folder = environment::get("LOCKSTEP_FLIGHT_DIR")) {
    context.flight_recorder = record_in(*folder, context);
  } else if (is_started_by_others(member, init_method)) {
    context.flight_recorder = record_in_own_folder(member.store, member.rank, member.world_size, member.generation);
  }
  return context;
}

}  // namespace

JobContext rendezvous(const std::string& init_method, const RendezvousOptions& options) {
  const Membership member = read_membership(init_method, options);
  JobContext context = basic_context(member, options, init_method);
  watch_report_signal();  // also without a control plane to answer it: the signal must not end the rank
  if (member.world_size == 1) return context;
  (void)net::given_bind_address();  // reports an invalid one now, not after rank 0 has been found

  raise_descriptor_limit(context);

  const auto deadline = Deadline::after(context.limits.join);
  while (!join_once(context, member, options, deadline)) context.store.reset();
  context.control = std::make_shared<ControlPlane>(context, deadline);
  return context;
}

void warn_unauthenticated(const JobContext& context, std::string_view backend) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> warned;
  const bool is_first = context.world_size > 1 && context.global_rank(context.rank) == 0;
  if (!is_first || net::is_loopback(context.bind_address)) return;
  const std::scoped_lock lock(mutex);
  if (!warned.emplace(backend).second) return;
  context.log.warning(concat(backend, " does not authenticate its connections: anybody who reaches ",
                             context.bind_address,
                             " can read and change the data of the job; use it on a network of the job's own only, ",
                             "or use the ring, whose ranks prove the job's token"));
}

}  // namespace lockstep::comm
