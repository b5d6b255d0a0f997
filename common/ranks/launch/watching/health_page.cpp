#include "launch/watching/health_page.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/timing.hpp"
#include "base/utf8.hpp"
#include "comm/flight_recorder/flight_recorder.hpp"
#include "comm/training_status.hpp"
#include "launch/watching/metrics_text.hpp"

namespace lockstep::launch {
namespace {

using Type = MetricsText::Type;

constexpr double kNanosecond = 1e-9;

double seconds_since(std::int64_t then_ns) {
  return static_cast<double>(std::max<std::int64_t>(0, steady_now_ns() - then_ns)) * kNanosecond;
}

void declare_all(MetricsText& text) {
  text.declare("lockstep_ranks", Type::kGauge, "Ranks of the job on this host.");
  text.declare("lockstep_generation", Type::kGauge, "The attempt that runs, from 0.");
  text.declare("lockstep_restarts_total", Type::kCounter, "Attempts before the one that runs.");
  text.declare("lockstep_failed", Type::kGauge, "1 from the attempt's first failure on.");
  text.declare("lockstep_step", Type::kGauge, "Updates that the rank has done.");
  text.declare("lockstep_steps", Type::kGauge, "Updates of the whole training.");
  text.declare("lockstep_step_seconds", Type::kGauge, "Duration of the rank's last step.");
  text.declare("lockstep_step_seconds_total", Type::kCounter, "Duration of the rank's steps in this attempt.");
  text.declare("lockstep_exposed_communication_seconds_total", Type::kCounter,
               "Of the steps' duration, waiting for other ranks with nothing left to compute.");
  text.declare("lockstep_step_age_seconds", Type::kGauge, "Time since the rank's last step ended.");
  text.declare("lockstep_peak_memory_bytes", Type::kGauge,
               "Most memory in use: of the device, or of the process on the CPU.");
  text.declare("lockstep_loss", Type::kGauge, "Loss of the last step over the global batch.");
  text.declare("lockstep_collectives_total", Type::kCounter,
               "Collectives that the rank has entered in the job's group.");
  text.declare("lockstep_last_collective_info", Type::kGauge, "The rank's last collective, as labels.");
  text.declare("lockstep_last_collective_age_seconds", Type::kGauge,
               "Time since the last collective ended, or since the call if it has not.");
}

void add_training(MetricsText& text, const comm::TrainingStatus& status, const MetricsText::Labels& rank) {
  const auto seconds = [](std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * kNanosecond; };
  text.add("lockstep_step", rank, static_cast<double>(status.step));
  text.add("lockstep_steps", rank, static_cast<double>(status.last_step));
  text.add("lockstep_step_seconds", rank, seconds(status.step_ns));
  text.add("lockstep_step_seconds_total", rank, seconds(status.steps_ns));
  text.add("lockstep_exposed_communication_seconds_total", rank, seconds(status.exposed_ns));
  text.add("lockstep_step_age_seconds", rank, seconds_since(status.written_ns));
  text.add("lockstep_peak_memory_bytes", rank, static_cast<double>(status.peak_memory_bytes));
  text.add("lockstep_loss", rank, status.loss);
}

// The newest collective of the group of all ranks; send and recv are numbered separately.
const comm::FlightEntry* last_collective(const comm::FlightRecord& record) {
  const comm::FlightEntry* last = nullptr;
  for (const comm::FlightEntry& entry : record.entries) {
    if (entry.group == 0 && !is_point_to_point(entry.fingerprint.collective)) last = &entry;
  }
  return last;
}

void add_collective(MetricsText& text, const comm::FlightEntry& entry, MetricsText::Labels rank) {
  text.add("lockstep_collectives_total", rank, static_cast<double>(entry.fingerprint.sequence + 1));
  text.add("lockstep_last_collective_age_seconds", rank,
           seconds_since(entry.ended_ns != 0 ? entry.ended_ns : entry.issued_ns));
  rank.emplace_back("collective", std::string(name_of(entry.fingerprint.collective)));
  rank.emplace_back("sequence", std::to_string(entry.fingerprint.sequence));
  rank.emplace_back("state", std::string(name_of(entry.state)));
  rank.emplace_back("line", concat(printable(entry.file), ":", entry.line));
  text.add("lockstep_last_collective_info", rank, 1);
}

// A file may be incomplete; the next request will have it. A result that is already optional is not wrapped again.
template <typename Read>
auto read_if_there(const Read& read) -> decltype(std::optional(read())) {
  try {
    return read();
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add_rank(MetricsText& text, const std::string& folder, int rank) {
  const MetricsText::Labels label{{"rank", std::to_string(rank)}};
  const auto status = read_if_there([&] { return comm::read_training_status(folder, rank); });
  if (status) add_training(text, *status, label);
  const auto record = read_if_there([&] { return comm::read_flight_record(comm::flight_record_path(folder, rank)); });
  const comm::FlightEntry* const last = record ? last_collective(*record) : nullptr;
  if (last != nullptr) add_collective(text, *last, label);
}

}  // namespace

void HealthPage::start(int generation, int first_rank, int ranks, const std::filesystem::path& flight_folder) {
  const std::scoped_lock lock(mutex_);
  attempt_ = {true, generation, first_rank, ranks, flight_folder, ""};
}

void HealthPage::fail(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  attempt_.failure = what;
}

HealthPage::Attempt HealthPage::attempt() const {
  const std::scoped_lock lock(mutex_);
  return attempt_;
}

HttpResponse HealthPage::answer(const std::string& path) const {
  if (path == "/healthz") return health_of(attempt());
  if (path == "/metrics") return metrics_of(attempt());
  return {.status = 404, .body = "there are /healthz and /metrics\n"};
}

HttpResponse HealthPage::health_of(const Attempt& attempt) {
  const bool has_failed = !attempt.failure.empty();
  nlohmann::ordered_json page{{"status", has_failed          ? "failed"
                                         : attempt.has_begun ? "running"
                                                             : "starting"},
                              {"generation", attempt.generation},
                              {"ranks", attempt.ranks}};
  if (has_failed) page["what"] = attempt.failure;
  return {.status = has_failed ? 503 : 200,
          .content_type = "application/json",
          .body = dump_json(page, kOneLine, BadUtf8::kReplace) + "\n"};
}

HttpResponse HealthPage::metrics_of(const Attempt& attempt) {
  MetricsText text;
  declare_all(text);
  text.add("lockstep_ranks", {}, attempt.ranks);
  text.add("lockstep_generation", {}, attempt.generation);
  text.add("lockstep_restarts_total", {}, attempt.generation);
  text.add("lockstep_failed", {}, attempt.failure.empty() ? 0 : 1);
  for (int rank = attempt.first_rank; rank < attempt.first_rank + attempt.ranks; ++rank)
    add_rank(text, attempt.folder.string(), rank);
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = text.text()};
}

}  // namespace lockstep::launch
