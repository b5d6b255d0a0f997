/// The cost of a job's control plane, store and joining as the number of ranks grows. Driven by scale.py; by itself it
/// prints lines of JSON that only scale.py reads. Two ways to be ranks:
///
///   scale_bench play PORT WORLD_SIZE FIRST COUNT JOIN_SECONDS
///       plays the ranks [FIRST, FIRST + COUNT) in one process: each joins by comm::rendezvous() and has its own
///       connections and its own control thread. The player of rank 0 serves store and hub. It takes commands from
///       standard input, one a line, and answers each with a line:
///         idle SECONDS                     nothing but heartbeats
///         enter SECONDS PER_SECOND MS      all ranks enter collectives, and are in each for MS milliseconds
///         post SECONDS PER_SECOND          all ranks post them, as the NCCL backend does
///         mismatch RANK                    all ranks enter one more collective, RANK with another count
///         watch                            waits until all ranks know of a failure
///   scale_bench rank FOLDER
///       one real rank below `lockstep launch`, with a ring over TCP: joins, meets the others in barriers, stays idle,
///       and then the last rank kills itself. Each rank's observations go to FOLDER/ranks.jsonl.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/rendezvous.hpp"
#include "net/descriptor_limit.hpp"

namespace {

using namespace lockstep;
using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC: the same in all processes, and in scale.py

constexpr auto kWatchLimit = 120s;
constexpr auto kRankIdle = 3s;
constexpr int kRankBarriers = 3;

std::int64_t now_ns() { return Clock::now().time_since_epoch().count(); }

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Resident memory in KiB; what processes share is divided among them in "Pss".
std::int64_t memory_kib(const std::string& field) {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field + ":")) return std::stoll(line.substr(field.size() + 1));  // past the ':'
  }
  return -1;
}

int descriptor_count() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return -1;
  int count = -3;  // ".", "..", and the folder itself
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

Json resources() {
  return {{"pss_kib", memory_kib("Pss")}, {"rss_kib", memory_kib("Rss")}, {"descriptors", descriptor_count()}};
}

comm::Fingerprint collective(std::uint64_t sequence, std::int64_t count = 1000) {
  return {.sequence = sequence,
          .collective = comm::Collective::kAllReduce,
          .dtype = DType::kFloat32,
          .root = 0,
          .count = count};
}

struct Place {
  int port, world_size, first, count, join_seconds;
};

// One rank that this process plays.
struct Player {
  comm::JobContext context;
  std::string error;
  std::int64_t joined_ns = 0;
  std::atomic<std::int64_t> failed_ns{0};
};

class Players {
 public:
  explicit Players(const Place& place) : place_(place) {
    for (int i = 0; i < place.count; ++i) players_.push_back(std::make_unique<Player>());
  }

  Json join() {
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < place_.count; ++i) threads.emplace_back([this, i] { join_as(place_.first + i); });
    }
    std::int64_t joined = 0, last_ns = 0;
    std::string error;
    for (const auto& player : players_) {
      joined += player->error.empty() ? 1 : 0;
      if (error.empty()) error = player->error;
      last_ns = std::max(last_ns, player->joined_ns);
    }
    return {{"joined", joined},
            {"last_ns", last_ns},
            {"cpu_seconds", cpu_seconds()},
            {"error", error.substr(0, 400)},
            {"error_bytes", error.size()}};
  }

  // CPU of this process while `step(end)` runs.
  template <typename Step>
  Json measure(double seconds, const Step& step) {
    const auto begin = Clock::now();
    const double cpu = cpu_seconds();
    step(begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    const std::chrono::duration<double> wall = Clock::now() - begin;
    Json answer = resources();
    answer["cpu_per_second"] = (cpu_seconds() - cpu) / wall.count();
    answer["failed"] = players_.front()->context.control->failure() != nullptr;
    return answer;
  }

  // Processes begin at slightly different times, as ranks do.
  void enter(Clock::time_point end, double per_second, std::chrono::milliseconds duration) {
    const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / per_second));
    for (auto next = Clock::now(); next < end; next += period) {
      const comm::Fingerprint call = collective(sequence_++);
      note_all(call, {comm::CallStep::kIssued, comm::CallStep::kStarted});
      std::this_thread::sleep_until(next + duration);
      note_all(call, {comm::CallStep::kEnded});
      std::this_thread::sleep_until(next + period);
    }
  }

  void post(Clock::time_point end, double per_second) {
    const auto period = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / per_second));
    for (auto next = Clock::now(); next < end; next += period) {
      const comm::Fingerprint call = collective(posted_++);
      for (const auto& player : players_) player->context.control->post(kPostedGroup, call);
      std::this_thread::sleep_until(next + period);
    }
  }

  Json mismatch(int odd_rank) {
    const std::int64_t begin = now_ns();
    for (const auto& player : players_) {
      const comm::Fingerprint call = collective(sequence_, player->context.rank == odd_rank ? 999 : 1000);
      player->context.control->note(0, call, comm::CallStep::kIssued);
      player->context.control->note(0, call, comm::CallStep::kStarted);
    }
    return {{"begin_ns", begin}};
  }

  Json watch() {
    const auto deadline = Clock::now() + kWatchLimit;
    const auto knows = [](const auto& player) { return player->failed_ns != 0; };
    while (!std::ranges::all_of(players_, knows) && Clock::now() < deadline) std::this_thread::sleep_for(20ms);
    Json answer = {{"known", std::ranges::count_if(players_, knows)}};
    std::int64_t last = 0;
    for (const auto& player : players_) last = std::max<std::int64_t>(last, player->failed_ns);
    answer["last_ns"] = last;
    const auto failure = players_.front()->context.control->failure();
    answer["message"] = failure ? failure->message.substr(0, 400) : "";
    answer["message_bytes"] = failure ? failure->message.size() : 0;
    answer["culprit"] = failure ? failure->culprit : -1;
    return answer;
  }

 private:
  static constexpr int kPostedGroup = 1 << 20;  // of all ranks, never registered: apart from the group that is noted

  void join_as(int rank) {
    Player& player = *players_[static_cast<std::size_t>(rank - place_.first)];
    try {
      comm::RendezvousOptions options;
      options.rank = options.local_rank = rank;
      options.world_size = options.local_world_size = place_.world_size;
      options.limits.emplace().join = std::chrono::seconds(place_.join_seconds);
      player.context = comm::rendezvous(concat("tcp://127.0.0.1:", place_.port), options);
      player.joined_ns = now_ns();
      (void)player.context.control->subscribe([&player](const comm::Failure&) { player.failed_ns = now_ns(); });
    } catch (const std::exception& error) {
      player.error = error.what();
      player.joined_ns = now_ns();
    }
  }

  void note_all(const comm::Fingerprint& call, const std::vector<comm::CallStep>& steps) {
    for (const auto& player : players_) {
      for (const comm::CallStep step : steps) player->context.control->note(0, call, step);
    }
  }

  Place place_;
  std::vector<std::unique_ptr<Player>> players_;
  std::uint64_t sequence_ = 0, posted_ = 0;
};

Json obey(Players& players, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  double seconds = 0, per_second = 1;
  int number = 0;
  words >> command;
  if (command == "watch") return players.watch();
  if (command == "mismatch" && words >> number) return players.mismatch(number);
  if (command == "idle" && words >> seconds)
    return players.measure(seconds, [](Clock::time_point end) { std::this_thread::sleep_until(end); });
  if (command == "enter" && words >> seconds >> per_second >> number) {
    return players.measure(
        seconds, [&](Clock::time_point end) { players.enter(end, per_second, std::chrono::milliseconds(number)); });
  }
  if (command == "post" && words >> seconds >> per_second) {
    return players.measure(seconds, [&](Clock::time_point end) { players.post(end, per_second); });
  }
  throw FormatError(concat("unknown command '", line, "'"));
}

// Ends without goodbyes: thousands of ranks of one process would say theirs one after the other.
[[noreturn]] void end_at_once(int status) {
  std::cout.flush();
  ::_exit(status);
}

int play(const Place& place) {
  net::raise_descriptor_limit(std::uint64_t{1} << 20);  // as far as it goes
  Players players(place);
  const Json joined = players.join();
  std::cout << joined.dump() << std::endl;
  if (joined["joined"] != place.count) end_at_once(0);
  for (std::string line; std::getline(std::cin, line);) std::cout << obey(players, line).dump() << std::endl;
  end_at_once(0);
}

// One write, so that lines of ranks do not mix.
void append_line(const std::string& path, const Json& content) {
  const std::string line = content.dump() + "\n";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open() || ::write(file.get(), line.data(), line.size()) < 0) throw IoError(path, errno);
}

int run_rank(const std::string& folder) {
  ::signal(SIGTERM, SIG_IGN);  // the launcher ends the others soon after a death; this one should say what it saw
  Json record = {{"start_ns", now_ns()}};
  comm::JobContext context = comm::rendezvous("env://");
  const std::shared_ptr<comm::ControlPlane> control = context.control;
  const int rank = context.rank, last = context.world_size - 1;
  record["rank"] = rank;
  record["joined_ns"] = now_ns();
  std::atomic<std::int64_t> failed_ns = 0;
  const int subscription = control->subscribe([&](const comm::Failure&) { failed_ns = now_ns(); });
  try {
    const auto group = ring::make_shared_memory_process_group(std::move(context));
    record["group_ns"] = now_ns();
    for (int i = 0; i < kRankBarriers; ++i) group->barrier().synchronize();
    record["barriers_ns"] = now_ns();
    const double cpu = cpu_seconds();
    std::this_thread::sleep_for(kRankIdle);
    record["idle_cpu_per_second"] = (cpu_seconds() - cpu) / std::chrono::duration<double>(kRankIdle).count();
    record.update(resources());
    group->barrier().synchronize();
    if (rank == last) {
      record["killed_ns"] = now_ns();
      append_line(folder + "/ranks.jsonl", record);
      ::raise(SIGKILL);
    }
    (void)control->wait_for_failure(Deadline::after(kWatchLimit));
  } catch (const Error& error) {
    record["error"] = std::string(error.what()).substr(0, 400);
    (void)control->wait_for_failure(Deadline::after(5s));
  }
  control->unsubscribe(subscription);
  record["failed_ns"] = failed_ns.load();
  append_line(folder + "/ranks.jsonl", record);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "rank") return run_rank(words[1]);
    if (words.size() == 6 && words[0] == "play") {
      return play(
          {std::stoi(words[1]), std::stoi(words[2]), std::stoi(words[3]), std::stoi(words[4]), std::stoi(words[5])});
    }
    std::cerr << "Usage: scale_bench play PORT WORLD_SIZE FIRST COUNT JOIN_SECONDS | scale_bench rank FOLDER\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "scale_bench: " << error.what() << "\n";
    return 1;
  }
}
