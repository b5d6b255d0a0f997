#include <array>
#include <cmath>

#include "00_why_many_gpus/2_link_budget/link_budget.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_00_2 {

using plan::Directions;
using plan::RateUnit;

struct Case {
  plan::LinkLabel label;
  double bytes;
  int ranks;
  double computing_seconds = 0.05;
};

// A number of the answer: what it is made of says which part of it is wrong.
struct Number {
  const char* name;
  double expected;
  double latency_seconds;  // of one alpha; 0 if the number is not a time
  double once;             // what one crossing of the whole buffer would give; 0 if that says nothing
};

std::string title_of(const Case& c) {
  return concat(shown(c.bytes / 1e6), " MB on ", c.ranks, c.ranks == 1 ? " rank, " : " ranks, ", shown(c.label.rate),
                c.label.unit == RateUnit::kGigabits ? " Gbit/s" : " GB/s",
                c.label.counted == Directions::kBothWays ? " both ways together" : " one way", ", alpha ",
                shown(c.label.alpha_us), " us");
}

std::array<Number, 5> numbers_of(const Case& c) {
  double beta = c.label.rate * 1e9;
  if (c.label.unit == RateUnit::kGigabits) beta *= 0.125;
  if (c.label.counted == Directions::kBothWays) beta *= 0.5;
  const double alpha = c.label.alpha_us / 1e6, others = c.ranks - 1;
  const double ring_bytes = 2 * others / c.ranks * c.bytes;
  const double ring = 2 * others * alpha + ring_bytes / beta;
  const double star = others == 0 ? 0 : 2 * alpha + 2 * others * c.bytes / beta;
  return {{{"bytes_per_second", beta, 0, 0},
           {"ring_bytes", ring_bytes, 0, c.bytes},
           {"ring_seconds", ring, alpha, c.bytes / beta},
           {"star_seconds", star, alpha, c.bytes / beta},
           {"efficiency", c.computing_seconds / (c.computing_seconds + ring), 0, 0}}};
}

std::string explain_number(const Case& c, const Number& number, double got) {
  const auto is_about = [&](double value) { return std::abs(got - value) <= 1e-6 * std::abs(value); };
  if (got == 0) return ": it was left at 0, or a quotient of integers such as 1 / 8 has made it 0";
  if (!std::isfinite(got)) return ": a division by 0";
  if (c.bytes == 0 && number.latency_seconds > 0)
    return concat(": that is ", shown(got / number.latency_seconds), " latencies; there are ",
                  shown(number.expected / number.latency_seconds), " steps one after another");
  if (c.label.alpha_us == 0 && number.once > 0)
    return concat(": that counts the buffer ", shown(got / number.once), " times instead of ",
                  shown(number.expected / number.once));
  if (is_about(1 - number.expected)) return ": that is the other part of the step";
  for (const double factor : {2.0, 8.0, 16.0})
    for (const double wrong : {factor, 1 / factor})
      if (is_about(number.expected * wrong)) return concat(": ", shown(wrong), " times as much");
  return "";
}

void check_case(Check& check, const Case& c) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"rate", c.label.rate},
                          {"unit", static_cast<int>(c.label.unit)},
                          {"counted", static_cast<int>(c.label.counted)},
                          {"alpha_us", c.label.alpha_us},
                          {"bytes", c.bytes},
                          {"ranks", c.ranks},
                          {"computing_seconds", c.computing_seconds}};
  }});
  const std::vector<double> got = check.numbers<double>(outcome, 0, "numbers");
  const std::array<Number, 5> numbers = numbers_of(c);
  check.expect(got.size() == numbers.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Number& number = numbers[i];
    // A handful of operations in double: 1e-9 is far above their rounding, and far below any real mistake.
    if (std::abs(got[i] - number.expected) <= 1e-9 * number.expected) continue;
    check.wrong(concat(title_of(c), ": ", number.name, " should be ", shown(number.expected), ", got ", shown(got[i]),
                       explain_number(c, number, got[i])));
  }
}

void check_random_links(Check& check) {
  const std::vector<float> random = random_floats(check.seed(), 0, 32);
  for (std::size_t i = 0; i < random.size(); i += 4) {
    const auto positive = [&](std::size_t k, double most) { return most * (random[i + k] + 1.01); };
    const plan::LinkLabel label{.rate = positive(0, 400),
                                .unit = i % 8 == 0 ? RateUnit::kGigabits : RateUnit::kGigabytes,
                                .counted = i % 16 < 8 ? Directions::kBothWays : Directions::kOneWay,
                                .alpha_us = positive(1, 20)};
    check_case(check, {label, positive(2, 1e9), 2 + static_cast<int>(positive(3, 500))});
  }
}

}  // namespace checks_00_2

void judge_00_2(Examination& exam) {
  using namespace checks_00_2;
  // Either the bytes or the latencies are 0, so that the times say how often the other is counted.
  exam.check("gigabytes, one way: only the bytes count", [](Check& check) {
    check_case(check, {{1, RateUnit::kGigabytes, Directions::kOneWay, 0}, 1e9, 5, 1});
  });
  exam.check("an empty buffer: only the latencies count", [](Check& check) {
    check_case(check, {{1, RateUnit::kGigabytes, Directions::kOneWay, 1e5}, 0, 5, 1});
  });
  exam.check("a network's label, in gigabits", [](Check& check) {
    check_case(check, {{10, RateUnit::kGigabits, Directions::kOneWay, 14}, 1e8, 4});
  });
  exam.check("NVLink's label, both ways", [](Check& check) {
    check_case(check, {{300, RateUnit::kGigabytes, Directions::kBothWays, 3.4}, 1e8, 4});
  });
  exam.check("gigabits, both ways", [](Check& check) {
    check_case(check, {{50, RateUnit::kGigabits, Directions::kBothWays, 14}, 1e8, 8});
  });
  exam.check("2 ranks", [](Check& check) {
    check_case(check, {{16, RateUnit::kGigabytes, Directions::kOneWay, 5.7}, 1e8, 2});
  });
  exam.check("1 rank has nothing to send", [](Check& check) {
    check_case(check, {{16, RateUnit::kGigabytes, Directions::kOneWay, 5.7}, 1e8, 1});
  });
  exam.check("1000 ranks and a small buffer", [](Check& check) {
    check_case(check, {{25, RateUnit::kGigabytes, Directions::kOneWay, 14}, 1e4, 1000});
  });
  exam.full_check("links chosen at random", check_random_links);
}

}  // namespace lockstep::exercise
