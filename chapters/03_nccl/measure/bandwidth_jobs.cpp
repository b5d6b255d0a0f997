#include "03_nccl/measure/bandwidth_jobs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/state_folder.hpp"
#include "base/unique_fd.hpp"
#include "launch/launcher.hpp"

namespace lockstep::bandwidth {
namespace {

// A uniquely named file, removed with this object.
class TemporaryFile {
 public:
  TemporaryFile() : path_((temporary_folder() / "bus_bandwidth.XXXXXX").string()) {
    const UniqueFd file(::mkstemp(path_.data()));
    if (!file.is_open()) throw IoError(concat("cannot create ", path_), errno);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// This program's own command line, for ranks that run `backends`.
std::vector<std::string> rank_command(const Options& options, const std::string& backends) {
  std::string collectives;
  for (const std::string& name : options.collectives) collectives += (collectives.empty() ? "" : ",") + name;
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string()};
  const auto add = [&](const std::string& option, const auto& value) {
    command.push_back(option);
    command.push_back(concat(value));
  };
  add("--backends", backends), add("--collectives", collectives), add("--min-bytes", options.min_bytes);
  add("--max-bytes", options.max_bytes), add("--factor", options.factor), add("--repeat", options.repeat);
  add("--warmup", options.warmup), add("--dtype", options.dtype), add("--op", options.op);
  add("--device", options.device), add("--spoil", options.spoil), add("--results", options.results);
  if (options.share_gpu) command.emplace_back("--share-gpu");
  return command;
}

// Asks for the last rank of this host, the likeliest to lack a device.
std::string why_not_all(const std::string& name, const Options& options) {
  try {
    return why_not(name, name == "nccl" ? options.for_backends(options.world_size - 1) : backend::BackendOptions{});
  } catch (const UnavailableError& error) {
    return error.what();
  }
}

// MPI's ranks must be children of mpirun. It runs as the only "rank" of one of our jobs, so nothing survives it. Its
// ranks must not see the variables that our launcher sets for that "rank".
launch::JobOptions mpi_job(const Options& options) {
  std::vector<std::string> command{"env"};
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                           "LOCKSTEP_STORE", "LOCKSTEP_FLIGHT_DIR"}) {
    command.insert(command.end(), {"-u", name});
  }
  std::ranges::copy(mpirun_command(options.world_size), std::back_inserter(command));
  std::ranges::copy(rank_command(options, "mpi"), std::back_inserter(command));
  launch::JobOptions job;
  job.command = std::move(command);
  job.style = launch::OutputStyle::kFirstPlain;  // mpirun is not a rank
  job.name = "bus_bandwidth";
  return job;
}

}  // namespace

backend::BackendOptions Options::for_backends(int local_rank) const {
  const RankPlace place{.local_rank = local_rank, .share_gpu = share_gpu};
  return {.device = Device::for_rank(device, place), .share_gpu = share_gpu};
}

// One job for each way to start ranks; each writes a report.
int run_jobs(Options options, Report& report) {
  std::string spawned, by_mpirun;
  for (const std::string& name : options.backends) {
    const std::string why = why_not_all(name, options);
    if (!why.empty()) report.left_out.emplace(name, why);
    if (why.empty()) (needs_mpirun(name) ? by_mpirun : spawned) += name + ",";
  }
  std::vector<launch::JobOptions> jobs;
  const TemporaryFile results;
  options.results = results.path();
  if (!spawned.empty()) {
    spawned.pop_back();  // drops the last comma
    jobs.emplace_back();
    jobs.back().command = rank_command(options, spawned);
    jobs.back().world_size = options.world_size;
    jobs.back().name = "bus_bandwidth";
  }
  if (!by_mpirun.empty()) jobs.push_back(mpi_job(options));
  for (const launch::JobOptions& job : jobs) {
    const int exit_code = launch::run_job(job).exit_code;
    if (exit_code != 0) return exit_code;
    merge(report, report_from_json(read_file(options.results)));
  }
  return 0;
}

}  // namespace lockstep::bandwidth
