// bus_bandwidth: the collectives of all backends side by side, in nccl-tests' terms: algbw is bytes over time, busbw
// the bandwidth that the links would need. Every element of every result is checked.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "01_mini_all_reduce/star_process_group.hpp"
#include "03_nccl/measure/bandwidth_jobs.hpp"
#include "03_nccl/measure/bandwidth_report.hpp"
#include "03_nccl/measure/contender.hpp"
#include "03_nccl/measure/measured_collective.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/timing.hpp"
#include "comm/objects.hpp"
#include "comm/rendezvous.hpp"
#include "launch/spawn.hpp"

namespace {

using namespace lockstep;
using bandwidth::Options;
using bandwidth::Report;
using comm::Collective;

constexpr Collective kMeasured[] = {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                                    Collective::kAllToAll, Collective::kBroadcast, Collective::kReduce};

template <typename Enum>
std::map<std::string, Enum> by_name(std::initializer_list<Enum> values) {
  std::map<std::string, Enum> named;
  for (const Enum value : values) named.emplace(name_of(value), value);
  return named;
}

const auto kDtypes = by_name({DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kInt32, DType::kInt64});
const auto kOps = by_name({comm::ReduceOp::kSum, comm::ReduceOp::kProduct, comm::ReduceOp::kMin, comm::ReduceOp::kMax,
                           comm::ReduceOp::kMean});

std::vector<std::int64_t> sizes(const Options& options) {
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = options.min_bytes;; bytes *= options.factor) {
    all.push_back(bytes);
    if (bytes > options.max_bytes / options.factor) break;  // the next one is larger than the largest
  }
  return all;
}

Report empty_report(const Options& options, int world_size) {
  return {.world_size = world_size, .dtype = kDtypes.at(options.dtype), .op = kOps.at(options.op)};
}

// A contender and its group.
struct Contender {
  std::string name;
  Device device;  // of its buffers
  std::unique_ptr<comm::ProcessGroup> group;
};

// Runs `action` on every rank. If it is unavailable on one rank, the contender is left out on all.
bool can_all(const std::function<void()>& action, const std::string& name, comm::ProcessGroup& referee, Report& report) {
  std::string problem;
  try {
    action();
  } catch (const UnavailableError& error) {
    problem = error.what();
  }
  for (const nlohmann::json& theirs : comm::all_gather_object(referee, problem)) {
    if (!theirs.get<std::string>().empty()) report.left_out.emplace(name, theirs);
  }
  return !report.left_out.contains(name);
}

std::vector<Contender> make_contenders(const Options& options, comm::ProcessGroup& referee, Report& report) {
  std::vector<Contender> all;
  for (const std::string& name : options.backends) {
    Contender contender{name, Device{}, nullptr};
    backend::BackendOptions chosen;
    // Before the group: the others would wait for a rank without a device.
    const auto choose = [&] {
      if (name == "nccl") chosen = options.for_backends(referee.context().local_rank);
      contender.device = chosen.device;
    };
    const auto make = [&] { contender.group = backend::make_process_group(name, referee.context(), chosen); };
    if (can_all(choose, name, referee, report) && can_all(make, name, referee, report)) {
      all.push_back(std::move(contender));
    }
  }
  return all;
}

// Between repetitions the referee runs barriers and takes maxima, so that no contender judges itself.
bandwidth::Measurement measure(const Contender& contender, Collective collective, std::int64_t bytes,
                               const Options& options, comm::ProcessGroup& referee) {
  const bandwidth::Exercise exercise{collective, kDtypes.at(options.dtype), kOps.at(options.op)};
  bandwidth::MeasuredCollective measured(*contender.group, exercise, bytes, contender.device);
  std::vector<double> times;
  for (int i = 0; i < options.warmup + options.repeat; ++i) {
    measured.prepare();
    referee.barrier().synchronize();
    const double seconds = measured.run();
    if (i >= options.warmup) times.push_back(seconds);
  }
  if (options.spoil == referee.rank()) measured.spoil();
  measured.check(contender.name);
  referee.all_reduce(comm::host_buffer(std::span(times)), comm::ReduceOp::kMax).synchronize();
  bandwidth::Measurement result{contender.name, collective, measured.bytes()};
  if (!bandwidth::is_timed(contender.name)) return result;
  result.seconds = median(times);
  result.fastest = std::ranges::min(times);
  return result;
}

int run_rank(const Options& options) {
  const auto referee = star::make_star_process_group(comm::rendezvous("env://"));
  Report report = empty_report(options, referee->world_size());
  const std::vector<Contender> contenders = make_contenders(options, *referee, report);
  for (const Collective collective : kMeasured) {
    if (std::ranges::find(options.collectives, name_of(collective)) == options.collectives.end()) continue;
    for (const std::int64_t bytes : sizes(options)) {
      for (const Contender& contender : contenders) {
        report.measurements.push_back(measure(contender, collective, bytes, options, *referee));
      }
    }
  }
  if (referee->rank() != 0) return 0;
  if (options.results.empty()) {
    std::cout << bandwidth::tables(report) << std::flush;
  } else {
    write_file(options.results, dump_json(bandwidth::to_json(report)));
  }
  return 0;
}

int run(const Options& options, const std::string& command) {
  if (launch::is_rank()) return run_rank(options);
  if (options.min_bytes > options.max_bytes)
    throw UsageError(concat("--min-bytes ", options.min_bytes, " is more than --max-bytes ", options.max_bytes));
  if (options.spoil >= options.world_size)
    throw UsageError(concat("--spoil ", options.spoil, ": the ranks are 0 to ", options.world_size - 1));
  Report report = empty_report(options, options.world_size);
  const int exit_code = bandwidth::run_jobs(options, report);
  if (exit_code != 0) return exit_code;
  if (report.measurements.empty()) {
    std::string why = bandwidth::tables(report);
    why.erase(why.find_last_not_of('\n') + 1);
    throw UnavailableError("nothing to measure: " + why);
  }
  std::cout << bandwidth::tables(report) << std::flush;
  if (!options.json.empty()) bandwidth::write_record(options.json, report, command, options.repeat);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Measures collectives of all backends side by side, and checks every element of their results");
  Options options;
  std::vector<std::string> collectives;
  for (const Collective collective : kMeasured) collectives.emplace_back(name_of(collective));
  const OptionCheck positive = whole_number(1);
  app.add_option("--backends", options.backends, "Backends to measure")
      .check(one_of(bandwidth::contender_names()));
  app.add_option("--collectives", options.collectives, "Collectives to measure").check(one_of(collectives));
  app.add_option("--min-bytes", options.min_bytes, "Bytes of the smallest buffer").check(positive);
  app.add_option("--max-bytes", options.max_bytes, "Bytes of the largest buffer").check(positive);
  app.add_option("--factor", options.factor, "Growth from one buffer to the next").check(whole_number(2, 1 << 20));
  app.add_option("--world-size", options.world_size, "Number of ranks").check(whole_number(1, 64));
  app.add_option("--repeat", options.repeat, "Number of measured runs").check(whole_number(1, 10'000));
  app.add_option("--warmup", options.warmup, "Number of runs before those").check(whole_number(0, 10'000));
  app.add_option("--dtype", options.dtype, "Type of the elements").check(one_of(kDtypes));
  app.add_option("--op", options.op, "Operation of reductions").check(one_of(kOps));
  app.add_option("--device", options.device, "Where nccl's buffers are: cpu, cuda or emulated");
  app.add_flag("--share-gpu", options.share_gpu, "nccl: ranks may share a GPU");
  app.add_option("--spoil", options.spoil, "Changes a result on this rank, to show that the check notices")
      .without_default();
  app.add_option("--json", options.json, "File for the measurements, with machine and date");
  app.add_option("--results", options.results).hidden();  // between this program and its ranks
  std::string command = "bus_bandwidth";
  for (int i = 1; i < argc; ++i) command += concat(" ", argv[i]);
  return run_main(app, argc, argv, [&] { return run(options, command); });
}
