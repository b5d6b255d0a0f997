// mpi_fault_helper kill|throw|deadline|mismatch FOLDER, started by mpirun: all ranks reduce again and again until rank
// 1 is killed, throws, stays away or reduces something else. The others write what they are told to FOLDER/RANK.
// Or `absent`: rank 1 makes no group. Or `outside`: the process of rank 1 is none of the job's, and calls no MPI at
// all. Or `one_thread`: the program has initialized MPI for one thread, and all ranks try twice to make a group.
#include <mpi.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/control/control_plane.hpp"
#include "comm/rendezvous.hpp"
#include "comm_mpi/mpi_process_group.hpp"

namespace {

using namespace lockstep;
using std::chrono::milliseconds;

constexpr int kCulprit = 1;

constexpr auto kLongEnough = std::chrono::seconds(8);  // for the others to have had enough

void fail(const comm::JobContext& job, const std::string& how) {
  if (how == "kill") raise(SIGKILL);
  if (how == "throw") throw std::runtime_error("out of luck");
  // Alive, but elsewhere until the others have given up.
  if (how == "deadline") (void)job.control->wait_for_failure(Deadline::after(kLongEnough));
}

void reduce_until_it_fails(const comm::JobContext& job, const std::string& how) {
  const auto group = mpi_backend::make_mpi_process_group(job);
  std::vector<float> values(200'000);
  for (int round = 0; round < 1000; ++round) {
    if (job.rank == kCulprit && round == 20) fail(job, how);
    comm::CollectiveOptions options;
    if (how == "deadline") options.deadline = Deadline::after(milliseconds(500));
    std::size_t count = round % 2 == 0 ? 10 : values.size();
    if (job.rank == kCulprit && round == 20 && how == "mismatch") ++count;
    group->all_reduce(comm::host_buffer(std::span(values).first(count)), comm::ReduceOp::kMax, options).synchronize();
  }
}

comm::JobContext join(const std::string& how, int process) {
  if (how != "outside") return comm::rendezvous("env://");
  comm::RendezvousOptions options;  // processes 0 and 2 are a job of their own
  options.world_size = options.local_world_size = 2;
  options.rank = options.local_rank = process == 0 ? 0 : 1;
  return comm::rendezvous("env://", options);
}

void run_process(const std::string& how, int process) {
  if (process == kCulprit && how == "outside") return std::this_thread::sleep_for(kLongEnough);
  const comm::JobContext job = join(how, process);
  if (process == kCulprit && how == "absent") {
    (void)job.control->wait_for_failure(Deadline::after(kLongEnough));
    return;
  }
  reduce_until_it_fails(job, how);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const PeerFailedError& error) {
    return concat("PeerFailedError: ", error.what());
  } catch (const TimeoutError& error) {
    return concat("TimeoutError: ", error.what());
  } catch (const MismatchError& error) {
    return concat("MismatchError: ", error.what());
  } catch (const std::exception& error) {
    return concat("another error: ", error.what());
  }
  return "no error";
}

// One line for each attempt.
std::string errors_with_one_thread() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
  std::string errors;
  {
    const comm::JobContext job = comm::rendezvous("env://");
    for (int attempt = 0; attempt < 2; ++attempt) {
      errors += error_of([&] { (void)mpi_backend::make_mpi_process_group(job); }) + "\n";
    }
  }
  MPI_Finalize();
  return errors;
}

// The first to end makes mpirun end the others: wait until they have written.
void write_and_wait(const std::filesystem::path& folder, int rank, int world_size, const std::string& text) {
  std::ofstream(folder / (std::to_string(rank) + ".part")) << text;
  std::filesystem::rename(folder / (std::to_string(rank) + ".part"), folder / std::to_string(rank));
  for (const auto limit = Deadline::after(std::chrono::seconds(20)); !limit.has_expired();) {
    int missing = 0;
    for (int peer = 0; peer < world_size; ++peer) {
      if (peer != kCulprit && !std::filesystem::exists(folder / std::to_string(peer))) ++missing;
    }
    if (missing == 0) return;
    std::this_thread::sleep_for(milliseconds(10));
  }
}

int run(const std::string& how, const std::filesystem::path& folder) {
  const auto number = [](const char* name) { return static_cast<int>(environment::get_int(name, 0, 100).value_or(0)); };
  const int process = number("OMPI_COMM_WORLD_RANK");
  const std::string text =
      how == "one_thread" ? errors_with_one_thread() : error_of([&] { run_process(how, process); });
  write_and_wait(folder, process, number("OMPI_COMM_WORLD_SIZE"), text);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return run_guarded("mpi_fault_helper", [&] { return run(argv[1], argv[2]); });
}
