// How the ranks of a group get the same file: make_shared_memory().
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "comm/get_or_fail.hpp"
#include "comm/shared_memory/shared_file.hpp"
#include "comm/shared_memory/shared_memory.hpp"
#include "net/bytes.hpp"
#include "net/frame.hpp"
#include "net/guarded_listener.hpp"
#include "net/local_socket.hpp"
#include "store/store.hpp"

namespace lockstep::comm {
namespace {

// A rank's entry in the store after its step: this, or the reason why it cannot share memory.
const std::string kYes = "yes";

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

// Four steps, each an entry in the store: every rank publishes its host; rank 0 offers the address of a local socket;
// every rank reports whether it received the file there; rank 0 reports whether all did. A rank that cannot go on
// publishes the reason, so that no rank waits for it.
class SharedMemoryExchange {
 public:
  SharedMemoryExchange(const JobContext& context, std::string_view group, const Deadline& deadline)
      : context_(context),
        prefix_(concat("generation/", context.generation, "/", group, "/shared_memory/")),
        identity_{net::Role::kCollective, static_cast<std::uint32_t>(context.generation), context.rank,
                  net::checksum(net::as_bytes(prefix_))},
        deadline_(deadline) {}

  SharedMemoryResult run(const std::string& host_id) {
    say("host/", host_id);
    std::string problem;
    try {
      context_.rank == 0 ? serve() : fetch();
    } catch (const Unavailable& unavailable) {
      problem = unavailable.what();
    }
    say("result/", problem.empty() ? kYes : problem);
    if (context_.rank == 0) context_.store->set(prefix_ + "verdict", problem.empty() ? first_problem() : problem);
    const std::string verdict = hear("verdict", concat("the verdict of ", name_of(0)));
    if (verdict != kYes) return {nullptr, verdict};
    return {std::move(memory_), ""};
  }

 private:
  // This rank cannot share memory: a result, not a failure.
  struct Unavailable : Error {
    using Error::Error;
  };

  void say(const std::string& key, const std::string& value) {
    context_.store->set(concat(prefix_, key, context_.rank), value);
  }

  std::string hear(const std::string& key, const std::string& what) {
    return get_or_fail(context_, prefix_ + key, waiting_for(what), deadline_);
  }

  [[nodiscard]] std::string waiting_for(const std::string& what) const {
    return concat(name_of(context_.rank), ": shared memory: waiting for ", what);
  }

  [[nodiscard]] std::string name_of(int rank) const { return concat("rank ", context_.global_rank(rank)); }

  // Rank 0: makes the file and hands it to all, or throws Unavailable once a rank is known not to get it.
  void serve() {
    try {
      check_hosts();
      net::GuardedListener listener(context_.token, identity_, net::listen_local());
      UniqueFd file = make_file();
      context_.store->set(prefix_ + "offer", listener.address().host);
      hand_out(listener, file.get());
      open(std::move(file));
    } catch (const Unavailable& unavailable) {
      context_.store->set(prefix_ + "offer", unavailable.what());  // ranks that have the address do not read it again
      throw;
    } catch (const IoError& error) {
      context_.store->set(prefix_ + "offer", concat(name_of(0), ": ", error.what()));
      throw Unavailable(concat(name_of(0), ": ", error.what()));
    }
  }

  void check_hosts() {
    std::string first;
    for (int rank = 0; rank < context_.world_size; ++rank) {
      const std::string id = hear(concat("host/", rank), name_of(rank));
      if (id.empty()) throw Unavailable(concat(name_of(rank), " cannot tell which host it runs on"));
      if (rank == 0) first = id;
      if (id != first) throw Unavailable(concat(name_of(rank), " runs on another host than ", name_of(0)));
    }
  }

  UniqueFd make_file() const {
    UniqueFd file = make_shared_file();
    const std::size_t bytes = SharedMemory::control_page_bytes(context_.world_size);
    if (const int error = extend_shared_file(file.get(), 0, bytes)) throw IoError("reserving shared memory", error);
    return file;
  }

  void hand_out(net::GuardedListener& listener, int file) {
    std::set<int> awaited;
    for (int rank = 1; rank < context_.world_size; ++rank) awaited.insert(rank);
    while (!awaited.empty()) {
      try {
        net::AcceptedPeer peer = listener.accept(Deadline::after(kJobWaitSlice).earliest(deadline_));
        if (peer.identity.tag != identity_.tag || !awaited.contains(peer.identity.rank)) continue;
        net::send_descriptor(peer.socket, file, deadline_);
        awaited.erase(peer.identity.rank);
      } catch (const TimeoutError&) {
        for (const int rank : awaited) {
          if (const auto result = context_.store->try_get(concat(prefix_, "result/", rank))) throw Unavailable(*result);
        }
        const std::string task = waiting_for(concat(name_of(*awaited.begin()), " to fetch the file"));
        throw_if_job_failed(context_, task);
        if (!deadline_.has_expired()) continue;
        const TimeoutError error(concat(task, ": not within ", format_seconds(deadline_.waited())));
        tell_job_of(context_, error);
        throw error;
      }
    }
  }

  // The other ranks.
  void fetch() {
    const std::string address = hear("offer", concat("the offer of ", name_of(0)));
    if (!address.starts_with('@')) throw Unavailable(address);
    try {
      net::StreamSocket socket = connect_to_rank_0(address);
      UniqueFd file = net::receive_descriptor(socket, deadline_);
      if (!can_be_relied_on(file.get(), SharedMemory::control_page_bytes(context_.world_size))) {
        throw Unavailable(concat(name_of(context_.rank), ": ", name_of(0), "'s file is too short, or could become so"));
      }
      open(std::move(file));
    } catch (const IoError& error) {
      throw Unavailable(concat(name_of(context_.rank), ": ", error.what()));
    }
  }

  // Retries if rank 0's listener has dropped this rank in favour of others, until it stops listening.
  net::StreamSocket connect_to_rank_0(const std::string& address) {
    constexpr std::chrono::milliseconds kPause{20};
    for (;;) {
      net::StreamSocket socket = net::connect_local(address, deadline_);
      socket.set_peer(name_of(0));
      try {
        net::authenticate(socket, context_.token, identity_, deadline_);
        return socket;
      } catch (const IoError&) {
        if (deadline_.remaining() < kPause) throw;
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void open(UniqueFd file) {
    memory_ = std::shared_ptr<SharedMemory>(new SharedMemory(context_, std::move(file)));
    memory_->open_control_page();
  }

  // Rank 0: kYes, or the reason of the first rank that failed.
  std::string first_problem() {
    for (int rank = 0; rank < context_.world_size; ++rank) {
      const std::string result = hear(concat("result/", rank), name_of(rank));
      if (result != kYes) return result;
    }
    return kYes;
  }

  const JobContext& context_;
  std::string prefix_;
  net::Identity identity_;
  Deadline deadline_;
  std::shared_ptr<SharedMemory> memory_;
};

SharedMemoryResult make_shared_memory(const JobContext& context, std::string_view group, const Deadline& deadline,
                                      const SharedMemoryOptions& options) {
  if (context.world_size == 1) return {nullptr, "a group of one rank shares nothing"};
  return SharedMemoryExchange(context, group, deadline).run(options.host_id.value_or(boot_id()));
}

}  // namespace lockstep::comm
