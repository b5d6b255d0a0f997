// sample_report FILE: writes a report page of invented numbers.
#include <cmath>
#include <iostream>

#include "base/file.hpp"
#include "sample_trace.hpp"
#include "trace/report.hpp"
#include "trace/trace_file.hpp"

using namespace lockstep;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sample_report FILE\n";
    return 2;
  }
  trace::Series loss{.name = "training", .x = {}, .y = {}}, validation{.name = "validation", .x = {}, .y = {}};
  trace::Series throughput{.name = "tokens/s", .x = {}, .y = {}};
  for (int step = 1; step <= 500; ++step) {
    loss.x.push_back(step);
    loss.y.push_back(1.6 + 4 * std::exp(-step / 90.0) + 0.08 * std::sin(step * 1.7) * std::sin(step * 0.31));
    throughput.x.push_back(step);
    throughput.y.push_back(61'000 + 3000 * std::sin(step * 0.9) - (step % 100 == 0 ? 20'000 : 0));
    if (step % 50 != 0) continue;
    validation.x.push_back(step);
    validation.y.push_back(1.75 + 4 * std::exp(-step / 90.0));
  }
  const std::vector<std::pair<std::string, std::string>> facts = {{"Model", "tiny: 0.86 M parameters"},
                                                                  {"Ranks", "4 on one host"},
                                                                  {"Exposed communication", "3.5 ms, 9.8 % of a step"}};
  const std::string body =
      trace::fact_table(facts) + "<h2>Training</h2>\n<div class=\"charts\">" +
      trace::line_chart(
          {.title = "Loss", .x_label = "step", .y_label = "nats per token", .series = {loss, validation}}) +
      trace::line_chart({.title = "Throughput",
                         .x_label = "step",
                         .y_label = "tokens per second",
                         .series = {throughput},
                         .starts_at_zero = true}) +
      "</div>\n<h2>What the ranks did</h2>\n" + trace::timeline(trace::align(test::sample_traces(4, 10)), 2);
  write_file(argv[1], trace::html_page("Lockstep run: tiny on 4 ranks", body));
  return 0;
}
