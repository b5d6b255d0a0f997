// For the emulator: its checker's findings become verdicts, and its counts part of the answer.
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "base/counted.hpp"
#include "device/cuda_check.hpp"
#include "emulator/checker/control.hpp"
#include "emulator/checker/findings.hpp"
#include "emulator/checker/metrics.hpp"
#include "emulator/runtime/launch_log.hpp"
#include "exercise/kernel_counts.hpp"
#include "exercise/kernel_trial.hpp"
#include "exercise/launch_errors.hpp"

namespace lockstep::exercise {
namespace {

using emulator::Finding;
using emulator::FindingKind;
using emulator::FindingSide;
using emulator::Launch;
using emulator::MetricsRow;

constexpr std::uint64_t kMany = 16;  // more than a few accesses of one thread

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

const char* verdict_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kRace:
    case FindingKind::kMissingWait:
    case FindingKind::kUnsynchronizedRead:
    case FindingKind::kChangedTooEarly:
    case FindingKind::kUnorderedStreams:
    case FindingKind::kUnrecordedEvent:
      return "RACE";
    case FindingKind::kUninitialisedRead:
    case FindingKind::kIntegerOverflow:
    case FindingKind::kWrongMask:
    case FindingKind::kUndefinedLane:
      return "WRONG";
    case FindingKind::kDivergentBarrier:
    case FindingKind::kDeadlock:
      return "HANG";
    default:
      return "CRASH";
  }
}

std::string thread_of(const FindingSide& side) {
  std::ostringstream text;
  text << "thread (" << side.thread.x << "," << side.thread.y << "," << side.thread.z << ") of block (" << side.block.x
       << "," << side.block.y << "," << side.block.z << ")";
  return text.str();
}

// "race in kernel sum: a write at sum.cu:12 and a read at sum.cu:14, which nothing orders"
std::string summary_of(const Finding& finding) {
  std::string text = emulator::name_of(finding.kind);
  if (!finding.kernel.empty()) text += concat(" in kernel ", finding.kernel);
  const char* separator = ": ";
  for (const FindingSide& side : finding.sides) {
    if (side.place.line == 0) continue;
    text += concat(separator, side.action, " at ", name_of(side.place.file), ":", side.place.line);
    separator = " and ";
  }
  if (finding.kind == FindingKind::kBadLaunch) text += concat(", ", finding.detail);
  return text;
}

// ", byte 8": for an array of ours in device memory, which is at the same place in every trial. The compiler places a
// kernel's own arrays.
std::string place_in_array(const std::string& detail) {
  const std::size_t begin = detail.find(", byte "), end = detail.find(" of allocation");
  return begin < end && end != std::string::npos ? detail.substr(begin, end - begin) : "";
}

// The thread that is first to read unwritten memory, or to write to another thread's place in shared memory, depends on
// the waits before that.
bool depends_on_schedule(const Finding& finding) {
  const auto writes = [](const FindingSide& side) { return side.action == "write"; };
  return finding.kind == FindingKind::kUninitialisedRead ||
         (finding.kind == FindingKind::kRace && std::ranges::all_of(finding.sides, writes) &&
          finding.detail.find("shared memory") != std::string::npos);
}

// Stays the same if lines move and variables are renamed. The number of occurrences depends on how the code is spread
// over lines, but a single one is kept apart from one in every thread.
std::string behaviour_of(const Finding& finding) {
  std::string text = concat(emulator::name_of(finding.kind),
                            finding.detail.find("shared memory") != std::string::npos ? ", shared memory" : "");
  if (finding.count > kMany) text += ", many times";
  const bool is_anybodys = depends_on_schedule(finding);
  for (const FindingSide& side : finding.sides)
    text += concat("; ", side.action, is_anybodys ? "" : concat(" by ", thread_of(side)));
  return is_anybodys ? text : text + place_in_array(finding.detail);
}

// The checker's text without its hint, which is sent separately.
std::string text_of(const Finding& finding) {
  const std::string text = to_text(finding);
  return text.substr(0, text.find("  hint: "));
}

KernelFinding described(const Finding& finding) {
  KernelFinding result{.verdict = verdict_of(finding.kind),
                       .summary = summary_of(finding),
                       .behaviour = behaviour_of(finding),
                       .lines = {},
                       .text = text_of(finding),
                       .hint = hint_of(finding)};
  for (const FindingSide& side : finding.sides)
    if (side.place.line != 0) result.lines.push_back({name_of(side.place.file), side.place.line});
  return result;
}

// From the start of the process: the checker takes data copied to the device as written only if it has seen the copy.
const bool kIsChecking = [] {
  emulator::print_findings(false);
  emulator::enable_checks(true);
  return true;
}();

KernelFinding launch_finding(const Launch& launch, const std::string& behaviour, const std::string& what,
                             const std::string& hint) {
  KernelFinding finding{.verdict = "WRONG",
                        .summary = concat("a kernel is launched ", what),
                        .behaviour = behaviour,
                        .lines = {},
                        .text = concat("kernel ", launch.kernel, " is launched with ", launch.blocks,
                                       launch.blocks == 1 ? " block of " : " blocks of ", launch.threads, " threads"),
                        .hint = hint};
  if (launch.place.line != 0) finding.lines.push_back({name_of(launch.place.file), launch.place.line});
  return finding;
}

// Host code can use the emulator's device memory, and call a kernel like any function: the numbers may be right.
KernelFinding missing_launch() {
  return {.verdict = "WRONG",
          .summary = "no kernel is launched",
          .behaviour = "no launch",
          .lines = {},
          .text =
              "the function has returned without a launch; on a GPU, host code cannot use device memory, and a "
              "kernel cannot be called like a function",
          .hint = "launch the kernel: its name, <<<blocks, threads, 0, stream>>>, and its arguments in parentheses"};
}

// Launches that violate the caller's requirements, even if they compute the right numbers.
std::vector<KernelFinding> faults_of_launches(const LaunchShape& shape) {
  constexpr const char* kBlocksAreGiven =
      "the number of blocks is a parameter of the function; with a grid-stride loop any number processes all elements";
  const std::vector<Launch> launches = emulator::launches();
  std::vector<KernelFinding> findings;
  const auto add = [&](const Launch& launch, const std::string& behaviour, const std::string& what, const char* hint) {
    findings.push_back(launch_finding(launch, behaviour, what, hint));
  };
  for (const Launch& launch : launches) {
    if (launch.is_in_default_stream)
      add(launch, "default stream", "in the default stream, not in the one that the function was given",
          "pass the stream as the fourth argument, <<<blocks, threads, 0, stream>>>: without it, the kernel may run "
          "before what the caller has enqueued, or after what depends on it");
    if (shape.most_blocks != 0 && launch.blocks > shape.most_blocks)
      add(launch, "more blocks than asked for",
          concat("with ", launch.blocks, " blocks; the caller asks for ", shape.most_blocks), kBlocksAreGiven);
  }
  if (launches.empty()) {
    if (!shape.may_be_none) findings.push_back(missing_launch());
    return findings;
  }
  const Launch& largest = *std::ranges::max_element(launches, {}, &Launch::blocks);
  if (largest.blocks < shape.fewest_blocks)
    add(largest, "fewer blocks than asked for",
        concat("with ", largest.blocks, largest.blocks == 1 ? " block" : " blocks", "; the caller asks for ",
               shape.fewest_blocks),
        kBlocksAreGiven);
  const auto has_threads = [&](const Launch& launch) { return launch.threads == shape.threads; };
  if (shape.threads != 0 && std::ranges::none_of(launches, has_threads))
    add(largest, "other threads than asked for",
        concat("with ", counted(largest.threads, "thread"), " per block; the caller asks for ", shape.threads),
        "the number of threads per block is a parameter of the function");
  return findings;
}

void run_checked(const std::function<void(cudaStream_t)>& enqueue, const LaunchShape& shape) {
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreate(&stream), "making a stream");
  enqueue(stream);
  const cudaError_t launched = cudaGetLastError(), run = cudaDeviceSynchronize();
  std::vector<KernelFinding> findings;
  for (const Finding& finding : emulator::findings()) findings.push_back(described(finding));
  if (findings.empty() && launched == cudaSuccess && run == cudaSuccess) findings = faults_of_launches(shape);
  if (!findings.empty()) throw KernelFault(std::move(findings));
  require_success(launched, run);
  cuda_check(cudaStreamDestroy(stream), "ending a stream");
}

void add_row(KernelCounts& counts, const MetricsRow& row) {
  if (row.operation == "barrier") {
    counts.barriers += row.requests;
    return;
  }
  if (row.operation == "atomic") counts.atomics += row.lanes;
  const bool is_load = row.operation == "load";
  MemoryCounts& memory =
      row.is_shared ? (is_load ? counts.shared_loads : counts.shared_stores) : (is_load ? counts.loads : counts.stores);
  memory.requests += row.requests;
  memory.bytes += row.bytes;
  memory.transactions += row.transactions;
  memory.fewest += row.ideal;
}

// "transpose.cu:14  store to device memory: 32.0 sectors per request, 4.0 at best"
std::string remark_on(const MetricsRow& row) {
  std::ostringstream text;
  text << name_of(row.place.file) << ":" << row.place.line << "  ";
  if (row.operation == "barrier") {
    text << "barrier: passed " << counted(row.requests, "time");
    return text.str();
  }
  const auto requests = static_cast<double>(row.requests);
  text << row.operation << (row.is_shared ? ", shared memory: " : ", device memory: ") << row.requests << " requests, "
       << std::fixed << std::setprecision(1) << static_cast<double>(row.transactions) / requests
       << (row.is_shared ? " passes each (" : " sectors each (") << static_cast<double>(row.ideal) / requests
       << " at best)";
  return text.str();
}

}  // namespace

void run_kernels(const std::function<void(cudaStream_t)>& enqueue, const LaunchShape& shape) {
  run_checked(enqueue, shape);
}

void run_and_count_kernels(Answer& answer, const std::function<void(cudaStream_t)>& enqueue, const LaunchShape& shape) {
  emulator::clear_metrics();
  emulator::enable_metrics(true);
  run_checked(enqueue, shape);
  emulator::enable_metrics(false);
  KernelCounts counts;
  for (const MetricsRow& row : emulator::metrics()) {
    add_row(counts, row);
    answer.remark(remark_on(row));
  }
  set_counts(answer, counts);
}

}  // namespace lockstep::exercise
