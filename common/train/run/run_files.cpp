#include "run/run_files.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "comm/objects.hpp"
#include "comm/process_group.hpp"
#include "run/rank_summary.hpp"
#include "run/report.hpp"
#include "run/run_folder.hpp"
#include "trace/trace_file.hpp"

namespace lockstep::run {

namespace fs = std::filesystem;

namespace {

// The folder of the run on all ranks.
fs::path agree_on_folder(const RunOptions& options, const RunSummary& facts, const Ranks& ranks) {
  fs::path folder;
  if (options.resume)
    folder = *options.resume;
  else if (ranks.is_main())
    folder = make_run_folder(options.output.folder, label_of(options.task, facts));
  if (ranks.group() == nullptr) return folder;
  fs::path of_rank_0 = comm::broadcast_text(*ranks.group(), folder.string(), 0);
  if (options.resume && of_rank_0 != folder) {
    throw MismatchError(concat("rank ", ranks.rank(), " would resume ", folder.string(), " but rank 0 ",
                               of_rank_0.string(),
                               ": another run has saved a checkpoint in the meantime; give --resume the folder"));
  }
  return of_rank_0;
}

// Writes a file that training does not depend on.
template <typename Write>
void leave_file(const char* what, const Write& write) {
  try {
    write();
  } catch (const std::exception& error) {
    Logger().warning(concat(what, " is not written: ", error.what()));
  }
}

}  // namespace

RunFiles::RunFiles(const RunOptions& options, nlohmann::json saved_options, const RunSummary& facts, const Ranks& ranks)
    : ranks_(ranks),
      is_new_(!options.resume),
      folder_(agree_on_folder(options, facts, ranks)),
      saved_options_(std::move(saved_options)) {
  if (!facts.recorded.is_null()) saved_options_.update(facts.recorded);
  if (ranks_.group() != nullptr) saved_options_[kBackendUsed] = ranks_.group()->backend();
}

void RunFiles::write_options(const RunSummary& facts) const {
  if (!ranks_.is_main()) return;
  try {
    for (const auto& [name, content] : facts.files) replace_file(folder_ / name, content);
    replace_file(folder_ / kOptionsFile, dump_json(saved_options_, 2) + "\n");
  } catch (...) {
    remove_if_new();
    throw;
  }
}

void RunFiles::restore_if_removed(const RunSummary& facts, std::int64_t step) {
  std::error_code error;  // an error does not mean that nothing is there
  if (!ranks_.is_main() || fs::exists(folder_ / kOptionsFile, error) || error) return;
  const bool is_folder_there = fs::exists(folder_, error);
  try {
    fs::create_directories(folder_);
    is_new_ = false;  // what is there now is not this run's to remove
    write_options(facts);
    Logger().warning(is_folder_there ? concat((folder_ / kOptionsFile).string(), " was removed; it is written again")
                                     : concat("the run's folder ", folder_.string(),
                                              " was removed or moved while the run trains; it is made again, and has "
                                              "what follows from step ",
                                              step, " on"));
    has_warned_ = false;
  } catch (const std::exception& problem) {
    if (!std::exchange(has_warned_, true))
      Logger().warning(concat("the run's folder ", folder_.string(), " was removed and cannot be made again: ",
                              problem.what(), "; the run goes on, but what it saves is lost until it can"));
  }
}

void RunFiles::remove_if_new() const noexcept {
  std::error_code ignored;  // the error that ends the run matters more
  if (ranks_.is_main() && is_new_) fs::remove_all(folder_, ignored);
}

void RunFiles::write_costs(const trace::Recorder& recorder, std::span<const StepMetrics> history,
                           const MemoryPeaks& peaks) const {
  leave_file("the trace", [&] {
    const std::vector<trace::RankTrace> own{recorder.snapshot()};
    trace::write_trace(folder_ / trace::trace_file_name(ranks_.rank()), own);
  });
  leave_file("the summary of this rank", [&] {
    RankSummary summary = summarize(ranks_.rank(), history);
    summary.counted_peak_mib = peaks.counted_mib;
    summary.process_peak_mib = peaks.process_mib;
    write_summary(folder_, summary);
  });
}

void RunFiles::write_report(const Facts& description, const Outcome& outcome, const std::vector<fs::path>& compared,
                            std::span<const StepMetrics> history) const {
  if (!ranks_.is_main()) return;
  leave_file("the report", [&] {
    replace_file(folder_ / "report.html", report_page(folder_, description, outcome, compared, history));
  });
}

}  // namespace lockstep::run
