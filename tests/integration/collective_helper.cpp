// collective_helper WORLD_SIZE BACKEND COLLECTIVE: starts its ranks with launch::spawn(). All of them call the
// collective with changing counts until something goes wrong, and say when it did by the system's steady clock. With
// "backends" as COLLECTIVE they say which backend they have, and leave.
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "02_ring_all_reduce/ring_process_group.hpp"
#include "03_nccl/choose_backend.hpp"
#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

namespace {

using namespace lockstep;
using comm::Buffer;

std::unique_ptr<comm::ProcessGroup> make_group(const std::string& name, const comm::JobContext& job) {
  if (name == "star") return star::make_star_process_group(job);
  if (name == "ring") return ring::make_ring_process_group(job, {.small_bytes = 0});
  const bool share_gpu = environment::get("LOCKSTEP_TEST_SHARE_GPU").value_or("0") != "0";
  return backend::make_process_group(name, job, {.share_gpu = share_gpu});
}

// One call of a collective: all ranks pass the same count and root.
class Caller {
 public:
  Caller(comm::ProcessGroup& group, std::string collective)
      : group_(group),
        collective_(std::move(collective)),
        whole_(static_cast<std::size_t>(kMaxCount * group.world_size()), 1.0F),
        other_(whole_.size()),
        part_(static_cast<std::size_t>(kMaxCount), 1.0F) {}

  void call(std::int64_t count, int root) {
    const Buffer part = buffer(part_, count);
    const Buffer whole = buffer(whole_, count * group_.world_size());
    const Buffer other = buffer(other_, count * group_.world_size());
    const std::map<std::string, std::function<comm::Work()>> collectives{
        {"all_reduce", [&] { return group_.all_reduce(part, comm::ReduceOp::kMax); }},
        {"broadcast", [&] { return group_.broadcast(part, root); }},
        {"reduce", [&] { return group_.reduce(part, root, comm::ReduceOp::kMax); }},
        {"all_gather", [&] { return group_.all_gather(whole, part); }},
        {"reduce_scatter", [&] { return group_.reduce_scatter(part, whole, comm::ReduceOp::kMax); }},
        {"gather", [&] { return group_.gather(whole, part, root); }},
        {"scatter", [&] { return group_.scatter(part, whole, root); }},
        {"all_to_all", [&] { return group_.all_to_all(other, whole); }},
        {"barrier", [&] { return group_.barrier(); }},
        {"send_recv", [&] { return shift(part, other); }},
    };
    const auto found = collectives.find(collective_);
    if (found == collectives.end()) throw UsageError("unknown collective " + collective_);
    found->second().synchronize();
  }

  static constexpr std::int64_t kMaxCount = 200'000;

 private:
  static Buffer buffer(std::vector<float>& values, std::int64_t count) {
    return comm::host_buffer(std::span(values).first(static_cast<std::size_t>(count)));
  }

  comm::Work shift(const Buffer& to_right, Buffer from_left) {
    const int size = group_.world_size();
    from_left.count = to_right.count;
    group_.group_start();
    group_.send(to_right, (group_.rank() + 1) % size);
    group_.recv(from_left, (group_.rank() + size - 1) % size);  // + size: C++'s % keeps the sign
    return group_.group_end();
  }

  comm::ProcessGroup& group_;
  std::string collective_;
  std::vector<float> whole_;
  std::vector<float> other_;
  std::vector<float> part_;
};

long now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// By what the ranks communicate, and those before the last one among themselves.
int say_backends(comm::ProcessGroup& group) {
  const auto part = group.split(group.rank() == group.world_size() - 1 ? 1 : 0);
  std::cout << "backend " << group.backend() << ", of its part " << part->backend() << std::endl;
  group.barrier().synchronize();  // nobody leaves before all have split
  return 0;
}

int run_rank(const std::string& backend, const std::string& collective) {
  const comm::JobContext job = comm::rendezvous("env://");
  const auto group = make_group(backend, job);
  if (collective == "backends") return say_backends(*group);
  Caller caller(*group, collective);
  try {
    for (int round = 0;; ++round) {
      // Small and large in turns: what one algorithm does and what another does.
      const std::int64_t count = round % 3 == 0 ? 100 : Caller::kMaxCount / (1 + round % 5);
      caller.call(count, round % group->world_size());
      if (round == 0) std::cout << "ready pid " << getpid() << std::endl;
    }
  } catch (const Error&) {
    std::cout << "failed at " << now_us() << std::endl;
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return run_guarded("collective_helper",
                     [&] { return launch::spawn([&] { return run_rank(argv[2], argv[3]); }, std::stoi(argv[1])); });
}
