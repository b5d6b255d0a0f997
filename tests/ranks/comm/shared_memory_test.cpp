#include "comm/shared_memory/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "comm/registered_memory.hpp"
#include "comm/shared_memory/shared_file.hpp"
#include "net/guarded_listener.hpp"
#include "net/local_socket.hpp"
#include "shared_memory_ranks.hpp"
#include "store/store.hpp"
#include "support/catch.hpp"
#include "support/stay_away.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using comm::JobContext;
using comm::SharedMemory;
using comm::SharedRegion;
using test::run_ranks;
using test::run_ranks_for;
using test::shared_memory_of;
using test::soon;
using test::stay_away;

namespace {

std::byte mark_of(int rank, std::size_t index) {
  return static_cast<std::byte>((37 * static_cast<std::size_t>(rank) + 11 * index + 1) % 251);
}

// Lowers this process's limit on file sizes, which posix_fallocate obeys, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit lowered{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

}  // namespace

TEST_CASE("every rank sees what the others write, wherever each has the memory mapped", "[comm][multirank]") {
  for (const int world_size : {2, 3, 4, 5, 8}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{5} << 20}) {
      const auto problems = run_ranks_for<std::string>(world_size, [&](const JobContext& context) -> std::string {
        const auto memory = shared_memory_of(context);
        const SharedRegion region = memory->grow(bytes * static_cast<std::size_t>(world_size), soon());
        const auto own = static_cast<std::size_t>(context.rank) * bytes;
        for (std::size_t i = 0; i < bytes; ++i) region.data[own + i] = mark_of(context.rank, i);
        (void)memory->all_gather({}, "test", soon());
        for (int rank = 0; rank < world_size; ++rank) {
          const std::byte* const theirs = memory->at(region.offset + static_cast<std::size_t>(rank) * bytes, bytes);
          for (std::size_t i = 0; i < bytes; ++i) {
            if (theirs[i] != mark_of(rank, i)) return concat("rank ", context.rank, " sees byte ", i, " of ", rank);
          }
        }
        (void)memory->all_gather({}, "test", soon());
        return "";
      });
      for (const std::string& problem : problems) CHECK(problem == "");
    }
  }
}

TEST_CASE("notes arrive from every rank, many times in a row", "[comm][multirank]") {
  const auto wrong = run_ranks_for<int>(4, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    int count = 0;
    for (int round = 0; round < 500; ++round) {
      const auto notes = memory->all_gather({.bytes = 7, .number = 1000 * round + context.rank}, "test", soon());
      for (int rank = 0; rank < 4; ++rank) count += notes[rank].number == 1000 * round + rank ? 0 : 1;
    }
    return count;
  });
  CHECK(wrong == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("ranks of different hosts all learn that they share no memory, and why", "[comm][multirank]") {
  for (const std::string host : {"elsewhere", ""}) {
    const auto reasons = run_ranks_for<std::string>(3, [&](const JobContext& context) {
      comm::SharedMemoryOptions options;
      if (context.rank == 1) options.host_id = host;
      const auto found = comm::make_shared_memory(context, "test", soon(), options);
      return found.memory ? "shared" : found.reason;
    });
    for (const std::string& reason : reasons) {
      CHECK(reason == reasons[0]);
      CHECK_THAT(reason, ContainsSubstring("rank 1"));
      CHECK_THAT(reason, ContainsSubstring("host"));
    }
  }
}

TEST_CASE("memory that cannot be had is an error on every rank, and less can still be had", "[comm][multirank]") {
  const FileSizeLimit limit(rlim_t{64} << 20);
  const auto outcomes = run_ranks_for<std::string>(3, [](const JobContext& context) -> std::string {
    const auto memory = shared_memory_of(context);
    std::string message = "no error";
    try {
      (void)memory->grow(std::size_t{256} << 20, soon());
    } catch (const IoError& error) {
      message = error.what();
    }
    const SharedRegion small = memory->grow(1 << 20, soon());
    std::memset(small.data, 1, small.bytes);
    return message;
  });
  for (const std::string& message : outcomes) CHECK_THAT(message, ContainsSubstring("268435456 bytes"));
}

TEST_CASE("the shared file cannot be made shorter, which would be SIGBUS for all who have it mapped", "[comm]") {
  const UniqueFd file = comm::make_shared_file();
  REQUIRE(comm::extend_shared_file(file.get(), 0, 8192) == 0);
  CHECK(::ftruncate(file.get(), 4096) == -1);
  CHECK(errno == EPERM);
  CHECK(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW) == -1);  // nor kept from growing
  CHECK(comm::extend_shared_file(file.get(), 8192, 4096) == 0);
  CHECK(comm::can_be_relied_on(file.get(), 12288));
  CHECK_FALSE(comm::can_be_relied_on(file.get(), 12289));
}

TEST_CASE("a rank that gets a file which could become shorter does not use it", "[comm][multirank]") {
  const auto reasons = run_ranks_for<std::string>(2, [](const JobContext& context) -> std::string {
    if (context.rank == 1) return comm::make_shared_memory(context, "test", soon()).reason;
    const std::string prefix = "generation/0/test/shared_memory/";
    net::GuardedListener listener(context.token, {net::Role::kCollective, 0, -1, 0}, net::listen_local());
    context.store->set(prefix + "offer", listener.address().host);
    net::AcceptedPeer peer = listener.accept(soon());
    const UniqueFd file(::memfd_create("test", MFD_CLOEXEC));
    if (::ftruncate(file.get(), 1 << 20) != 0) throw IoError("ftruncate", errno);
    net::send_descriptor(peer.socket, file.get(), soon());
    context.store->set(prefix + "verdict", context.store->get(prefix + "result/1", soon()));
    return "";
  });
  CHECK_THAT(reasons[1], ContainsSubstring("rank 1: rank 0's file"));
}

TEST_CASE("ranks that ask for different sizes are told so", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    (void)memory->grow(context.rank == 2 ? 2000 : 1000, soon());
  });
  for (const auto& outcome : outcomes) {
    CHECK(outcome.is<MismatchError>());
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 0 1000 bytes") && ContainsSubstring("rank 2 2000"));
  }
}

TEST_CASE("in a group of some ranks, they are named by their numbers in the job", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    context.global_ranks = {3, 7};
    const auto memory = shared_memory_of(context);
    (void)memory->grow(context.rank == 1 ? 2000 : 1000, soon());
  });
  for (const auto& outcome : outcomes)
    CHECK_THAT(outcome.message(), ContainsSubstring("rank 3 1000 bytes, rank 7 2000"));
}

TEST_CASE("a rank that dies instead of coming is named", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    if (context.rank == 1) throw std::runtime_error("out of luck");
    (void)memory->grow(1000, soon());
  });
  for (const int rank : {0, 2}) {
    CAPTURE(outcomes[rank].message());
    CHECK(outcomes[rank].is<PeerFailedError>());
    CHECK_THAT(outcomes[rank].message(), ContainsSubstring("rank 1"));
  }
}

TEST_CASE("a rank that dies before it has the file is named", "[comm][multirank]") {
  for (const int culprit : {0, 1}) {
    const auto outcomes = run_ranks(3, [&](const JobContext& context) {
      if (context.rank == culprit) throw std::runtime_error("out of luck");
      (void)shared_memory_of(context);
    });
    for (int rank = 0; rank < 3; ++rank) {
      CAPTURE(culprit, rank, outcomes[rank].message());
      if (rank != culprit) CHECK(outcomes[rank].is<PeerFailedError>());
    }
  }
}

TEST_CASE("a rank that stays away is named at the deadline", "[comm][multirank]") {
  const auto outcomes = run_ranks(3, [](const JobContext& context) {
    if (context.rank == 2) return stay_away(context);
    // Rank 0 gives up first: what rank 1 sees then is that failure.
    (void)comm::make_shared_memory(context, "test", Deadline::after(context.rank == 0 ? 1s : 20s));
  });
  CHECK(outcomes[0].is<TimeoutError>());
  CHECK(outcomes[1].is<TimeoutError>());
  for (const int rank : {0, 1}) CHECK_THAT(outcomes[rank].message(), ContainsSubstring("waiting for rank 2"));

  const auto later = run_ranks(2, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    if (context.rank == 0) (void)memory->grow(1000, Deadline::after(200ms));
    if (context.rank == 1) stay_away(context);
  });
  CHECK(later[0].is<TimeoutError>());
  CHECK_THAT(later[0].message(), ContainsSubstring("rank 1 did not arrive"));
}

TEST_CASE("interrupt() ends a wait", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    if (context.rank == 1) return stay_away(context);
    const std::jthread other([&] {
      std::this_thread::sleep_for(100ms);
      memory->interrupt();
    });
    (void)memory->grow(1000, soon());
  });
  CHECK(outcomes[0].is<IoError>());
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("interrupted"));
}

TEST_CASE("nothing is left: no descriptor, no mapping", "[comm][multirank]") {
  const auto job = [] {
    return run_ranks(3, [](const JobContext& context) {
      comm::RegisteredMemory registered(shared_memory_of(context));
      const auto storage = registered.allocate(100000, soon());
      std::memset(storage->data(), 1, storage->bytes());
    });
  };
  job();  // whatever the process opens once is open afterwards
  const auto before = test::open_descriptors();
  const auto outcomes = job();
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  CHECK(test::open_descriptors() == before);
  CHECK(test::shared_mappings() == 0);
}

TEST_CASE("registered blocks of all ranks correspond, and are found by their addresses", "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](const JobContext& context) -> std::string {
    const auto memory = shared_memory_of(context);
    comm::RegisteredMemory registered(memory);
    std::vector<std::byte> private_memory(100);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{10000}, std::size_t{3} << 20}) {
      const auto storage = registered.allocate(bytes, soon());
      std::byte* const own = storage->data();
      if (storage->bytes() != bytes || reinterpret_cast<std::uintptr_t>(own) % 64 != 0) return "storage";
      own[bytes - 1] = mark_of(context.rank, bytes);
      const auto at = registered.find(own, bytes);
      const auto last = registered.find(own + bytes - 1, 1);
      if (!at || !last || *last != *at + bytes - 1) return "not found";
      const auto notes = memory->all_gather({.bytes = *last}, "test", soon());
      for (int rank = 0; rank < 3; ++rank) {
        if (*memory->at(notes[rank].bytes, 1) != mark_of(rank, bytes)) return "a peer's block is elsewhere";
      }
      if (registered.find(own, std::size_t{64} << 20)) return "found beyond its end";
      if (registered.find(private_memory.data(), 1)) return "found private memory";
      (void)memory->all_gather({}, "test", soon());
    }
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

TEST_CASE("a freed block is used again, once all ranks have freed it", "[comm][multirank]") {
  const auto problems = run_ranks_for<std::string>(3, [](const JobContext& context) -> std::string {
    const auto memory = shared_memory_of(context);
    comm::RegisteredMemory registered(memory);
    auto first = registered.allocate(10000, soon());
    const std::byte* const place = first->data();
    const auto held = context.rank == 2 ? first : nullptr;  // by a queued collective, say
    first.reset();
    (void)memory->all_gather({}, "test", soon());
    const auto second = registered.allocate(10000, soon());
    if (second->data() == place) return "used again while rank 2 holds it";
    if (context.rank != 2 && registered.find(place, 1)) return "found after it was freed";
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");

  const auto regions = run_ranks_for<int>(3, [](const JobContext& context) {
    const auto memory = shared_memory_of(context);
    comm::RegisteredMemory registered(memory);
    std::set<const std::byte*> places;
    for (int round = 0; round < 20; ++round) {
      places.insert(registered.allocate(10000, soon())->data());
      (void)memory->all_gather({}, "test", soon());  // all have freed it
    }
    return static_cast<int>(places.size());
  });
  CHECK(regions == std::vector<int>{1, 1, 1});
}

TEST_CASE("registered memory outlives the group it was made by", "[comm][multirank]") {
  const auto outcomes = run_ranks(2, [](JobContext context) {
    std::shared_ptr<Storage> storage;
    {
      comm::RegisteredMemory registered(shared_memory_of(context));
      storage = registered.allocate(5000, soon());
    }
    context.control.reset();
    std::memset(storage->data(), 1, storage->bytes());
  });
  for (const auto& outcome : outcomes) CHECK(outcome.message() == "");
  CHECK(test::shared_mappings() == 0);
}
