#include "run/report.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/plain_text.hpp"
#include "base/timing.hpp"
#include "run/comparison.hpp"
#include "run/metrics.hpp"
#include "run/rank_summary.hpp"
#include "run/readable.hpp"
#include "run/time_verdict.hpp"
#include "trace/report.hpp"
#include "trace/trace_file.hpp"

namespace lockstep::run {
namespace fs = std::filesystem;
namespace {

// The same words as in the timeline.
const std::string kWaiting = "waiting for other ranks";

using Steps = std::vector<StepMetrics>;

std::string section(const std::string& title, const std::string& body) {
  return "<section><h2>" + escape_html(title) + "</h2>\n" + body + "</section>\n";
}

// Side by side if the page is wide enough.
std::string charts(const std::string& figures) { return "<div class=\"charts\">\n" + figures + "</div>\n"; }

template <typename Value>
trace::Series series(const std::string& name, const Steps& steps, const Value& value) {
  trace::Series line{.name = name, .x = {}, .y = {}};
  for (const StepMetrics& step : steps) {
    if (const std::optional<double> y = value(step)) {
      line.x.push_back(static_cast<double>(step.step));
      line.y.push_back(*y);
    }
  }
  return line;
}

std::string loss_chart(const Steps& steps, const std::string& unit) {
  return trace::line_chart(
      {.title = "Loss",
       .x_label = "step",
       .y_label = unit,
       .series = {series("training", steps, [](const StepMetrics& step) { return std::optional(step.loss); }),
                  series("validation", steps, [](const StepMetrics& step) { return step.validation_loss; })}});
}

// One curve per score; empty if there are none.
std::string score_chart(const Steps& steps) {
  std::set<std::string> names;
  for (const StepMetrics& step : steps)
    for (const auto& entry : step.scores) names.insert(entry.first);
  if (names.empty()) return "";
  trace::Chart chart{.title = "Validation scores", .x_label = "step", .y_label = "", .series = {}};
  for (const std::string& name : names) {
    chart.series.push_back(series(name, steps, [&](const StepMetrics& step) {
      const auto score = step.scores.find(name);
      return score == step.scores.end() ? std::nullopt : std::optional(score->second);
    }));
  }
  return trace::line_chart(chart);
}

Unit unit_of(const Steps& steps) { return steps.empty() ? Unit::kTokens : steps.back().unit; }

// The median over a window of steps, so that single slow steps do not hide the trend.
std::vector<double> smoothed(const std::vector<double>& values) {
  const std::size_t half_window = std::max<std::size_t>(values.size() / 100, 1);
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i - std::min(i, half_window);
    const std::size_t end = std::min(values.size(), i + half_window + 1);
    result[i] = median(
        {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)});
  }
  return result;
}

std::string throughput_chart(const Steps& steps) {
  trace::Series line =
      series("all ranks", steps, [](const StepMetrics& step) { return std::optional(step.count_per_s()); });
  line.y = smoothed(line.y);
  return trace::line_chart({.title = "Throughput",
                            .x_label = "step",
                            .y_label = concat(name_of(unit_of(steps)), " per second"),
                            .series = {line},
                            .starts_at_zero = true});
}

std::string optimization_charts(const Steps& steps) {
  const auto norm = [](const StepMetrics& step) { return step.gradient_norm; };
  const auto rate = [](const StepMetrics& step) { return std::optional(step.learning_rate); };
  const trace::Series norms = series("gradient norm", steps, norm);
  const bool was_measured = steps.empty() || !norms.x.empty();
  const std::string norm_chart = trace::line_chart({.title = "Gradient norm, before clipping",
                                                    .x_label = "step",
                                                    .y_label = "2-norm",
                                                    .series = {norms},
                                                    .starts_at_zero = true});
  return (was_measured ? norm_chart : "") + trace::line_chart({.title = "Learning rate",
                                                               .x_label = "step",
                                                               .y_label = "",
                                                               .series = {series("learning rate", steps, rate)},
                                                               .starts_at_zero = true});
}

// The mean of a duration over the steady part of a run, in milliseconds.
template <typename Value>
double mean_ms(const Steps& steps, const Value& value) {
  const std::size_t skipped = steps.size() / 10;  // the first steps fill caches
  const double sum =
      std::accumulate(steps.begin() + static_cast<std::ptrdiff_t>(skipped), steps.end(), 0.0,
                      [&](double total, const StepMetrics& step) { return total + value(step).count(); });
  return sum / static_cast<double>(steps.size() - skipped);
}

Facts step_facts(const Steps& steps) {
  if (steps.empty()) return {};
  const double duration = mean_ms(steps, [](const StepMetrics& step) { return step.duration; });
  const auto part = [duration](double ms) {
    return fixed(ms, 2) + " ms (" + fixed(duration > 0 ? ms / duration * 100 : 0, 1) + " % of the step)";
  };
  const double count = static_cast<double>(steps.back().count);
  Facts facts{{"step", concat(fixed(duration, 1), " ms, ", short_count(count / duration * 1e3), " ",
                              name_of(unit_of(steps)), "/s")},
              {"forward", part(mean_ms(steps, [](const StepMetrics& step) { return step.forward; }))},
              {"backward", part(mean_ms(steps, [](const StepMetrics& step) { return step.backward; }))},
              {"update", part(mean_ms(steps, [](const StepMetrics& step) { return step.update; }))},
              {"waiting for data", part(mean_ms(steps, [](const StepMetrics& step) { return step.data_wait; }))}};
  if (steps.back().exposed_communication) {
    const auto exposed = [](const StepMetrics& step) {
      return step.exposed_communication.value_or(StepMetrics::Milliseconds(0));
    };
    facts.emplace_back(kWaiting, part(mean_ms(steps, exposed)));
  }
  return facts;
}

int count_ranks(const fs::path& run_folder) {
  int count = 0;
  while (fs::exists(run_folder / concat("rank_", count, ".json"))) ++count;
  return count;
}

std::vector<RankSummary> ranks_of(const fs::path& run_folder) {
  return read_summaries(run_folder, count_ranks(run_folder));
}

// "rank 1: most time without waiting for other ranks, 47.5 ms a step", and why another rank's step was longer.
std::string slowest_fact(const std::vector<RankSummary>& ranks) {
  const auto with_rank = [&](int rank) { return *std::ranges::find(ranks, rank, &RankSummary::rank); };
  const RankSummary slowest = with_rank(slowest_rank(ranks));
  const RankSummary longest = *std::ranges::max_element(ranks, {}, &RankSummary::duration);
  const auto own_ms = [](const RankSummary& rank) {
    return fixed((rank.duration - rank.exposed_communication).count(), 1);
  };
  std::string text =
      concat("rank ", slowest.rank, ": most time without ", kWaiting, ", ", own_ms(slowest), " ms a step");
  if (longest.duration > slowest.duration) {
    text += concat(". The step of rank ", longest.rank, " was longer only because it waited: it took ", own_ms(longest),
                   " ms without that");
  }
  return text;
}

Facts rank_facts(const std::vector<RankSummary>& ranks) {
  Facts facts;
  for (const RankSummary& rank : ranks) {
    std::string value = fixed(rank.duration.count(), 1) + " ms a step, " + fixed(rank.data_wait.count(), 2) +
                        " ms waiting for data, " + fixed(rank.peak_memory_mib, 0) + " MiB at most";
    if (rank.counted_peak_mib > 0) value += " (" + fixed(rank.counted_peak_mib, 1) + " MiB counted)";
    if (!rank.cpus.empty()) value += ", on CPU " + ranges(rank.cpus);
    if (ranks.size() > 1) value += ", " + fixed(rank.exposed_communication.count(), 2) + " ms " + kWaiting;
    facts.emplace_back(concat("rank ", rank.rank), value);
  }
  if (ranks.size() > 1) facts.emplace_back("slowest", slowest_fact(ranks));
  return facts;
}

// "mean of steps 4 to 30": the steps of a history that ends with `last`, without its first tenth.
std::string steady_steps(std::int64_t first, std::int64_t last) {
  const std::int64_t begin = first + (last - first + 1) / 10;
  return begin >= last ? concat("step ", last) : concat("mean of steps ", begin, " to ", last);
}

// Both tables, each with its rank and steps.
std::string time_tables(const Steps& steps, const std::vector<RankSummary>& ranks, const Outcome& outcome) {
  std::string html;
  if (!steps.empty()) {
    html += trace::fact_table(step_facts(steps), "Rank 0, " + steady_steps(steps.front().step, steps.back().step));
  }
  if (!ranks.empty() && outcome.step > outcome.first_step) {
    html += trace::fact_table(rank_facts(ranks), "Each rank, " + steady_steps(outcome.first_step + 1, outcome.step));
  } else if (!ranks.empty()) {
    html += trace::fact_table(rank_facts(ranks), "Each rank, mean of an earlier part of this run");
  }
  return html;
}

// From the run folder to the lesson's page, or to its Markdown if the site is not built; empty if the run folder is not
// somewhere in the course.
fs::path way_to_lesson(const fs::path& run_folder) {
  const fs::path lesson = "chapters/06_gpt_ddp";
  std::error_code error;
  fs::path way;
  for (fs::path folder = fs::absolute(run_folder, error); !error; folder = folder.parent_path(), way /= "..") {
    for (const fs::path& page : {"build/docs/site" / lesson / "index.html", lesson / "README.md"}) {
      if (fs::exists(folder / page, error)) return way / page;
    }
    if (folder == folder.parent_path()) break;
  }
  return {};
}

// The first sentence of the page; of several ranks, with the lesson's word for it.
std::string first_sentence(const fs::path& run_folder, const std::vector<RankSummary>& ranks) {
  const std::string verdict = time_verdict(ranks);
  if (verdict.empty()) return "";
  std::string html = "<p class=\"lead\">" + escape_html(verdict);
  if (ranks.size() > 1) {
    const fs::path way = way_to_lesson(run_folder);
    const std::string section = "lesson 06, \u201cRun it\u201d";
    const std::string link = "<a href=\"" + escape_html(way.string()) + "#run-it\">" + section + "</a>";
    html += " This is the <em>exposed communication</em> of " + (way.empty() ? section : link) + ".";
  }
  return html + "</p>\n";
}

// Empty if the learning rate has reached its highest value before the run's end.
std::string warmup_note(const Outcome& outcome) {
  if (outcome.step == 0 || outcome.step > outcome.warmup_steps) return "";
  const std::string all_steps = outcome.step == 1 ? "its only step" : concat("all ", outcome.step, " steps");
  if (outcome.warmup_steps > outcome.last_step) {
    return concat("rose in ", all_steps, ": the run is shorter than its warm-up (--warmup-steps ", outcome.warmup_steps,
                  ")");
  }
  return concat("rose in ", all_steps, ": the run ended inside its warm-up of ", outcome.warmup_steps,
                " steps (--warmup-steps)");
}

Facts outcome_facts(const fs::path& run_folder, const Outcome& outcome) {
  Facts facts{
      {"steps done", concat(outcome.step, " of ", outcome.last_step, ", this time in ", clock_time(outcome.elapsed))}};
  if (const std::string note = warmup_note(outcome); !note.empty()) facts.emplace_back("learning rate", note);
  if (outcome.loss) facts.emplace_back("loss", fixed(*outcome.loss, 4));
  if (outcome.validation_loss) facts.emplace_back("validation loss", fixed(*outcome.validation_loss, 4));
  for (const auto& [name, score] : outcome.scores) facts.emplace_back("validation " + name, fixed(score, 4));
  if (outcome.longest_save.count() > 0) {
    facts.emplace_back("saving", concat("the training waited at most ", fixed(outcome.longest_save.count() * 1e3, 1),
                                        " ms for a checkpoint"));
  }
  facts.emplace_back("run folder", run_folder.string());
  return facts;
}

std::string timeline_section(const fs::path& run_folder) {
  try {
    if (!fs::exists(run_folder / trace::trace_file_name(0))) return "";
    return section("Timeline of the last steps", trace::timeline(trace::read_trace_folder(run_folder)));
  } catch (const std::exception& error) {
    Logger().warning(concat("the report has no timeline: ", error.what()));
    return "";
  }
}

// The steps of metrics.jsonl. Those that it lacks come from memory.
Steps steps_of(const fs::path& run_folder, std::span<const StepMetrics> kept) {
  const fs::path path = run_folder / "metrics.jsonl";
  Steps written, all;
  try {
    if (fs::exists(path)) written = read_metrics(path);
  } catch (const std::exception& error) {
    Logger().warning(concat("the report has ",
                            kept.empty() ? "no curves: " : "curves of this process's steps only: ", error.what()));
  }
  std::ranges::set_union(written, kept, std::back_inserter(all), {}, &StepMetrics::step, &StepMetrics::step);
  return all;
}

}  // namespace

std::string report_page(const fs::path& run_folder, const Facts& description, const Outcome& outcome,
                        const std::vector<fs::path>& compared, std::span<const StepMetrics> kept) {
  const Steps steps = steps_of(run_folder, kept);
  const std::vector<RankSummary> ranks = ranks_of(run_folder);
  std::string body = first_sentence(run_folder, ranks);
  body += section("Outcome", trace::fact_table(outcome_facts(run_folder, outcome)));
  body +=
      section("Curves", charts(loss_chart(steps, outcome.loss_unit) + score_chart(steps) + throughput_chart(steps)));
  if (!compared.empty()) {
    std::vector<fs::path> runs{run_folder};
    runs.insert(runs.end(), compared.begin(), compared.end());
    body += section("Beside other runs", comparison_chart(runs, outcome.loss_unit));
  }
  if (!outcome.generated.empty()) {
    body += section("The model writes", "<pre>" + escape_html(outcome.generated) + "</pre>\n");
  }
  body += timeline_section(run_folder);
  body += section("Where a step's time goes", time_tables(steps, ranks, outcome));
  body += section("Optimization", charts(optimization_charts(steps)));
  body += section("What was run", trace::fact_table(description));
  return trace::html_page("Training run " + run_folder.filename().string(), body);
}

}  // namespace lockstep::run
