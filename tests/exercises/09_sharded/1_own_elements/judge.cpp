#include <algorithm>

#include "../../explanation.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"
#include "wrong_layouts.hpp"

namespace lockstep::exercise {
namespace checks_09_1 {

using Numbers = std::vector<std::int64_t>;
using sharded::Elements;

struct Layout {
  Numbers counts;
  int ranks;
};

// By the words of the task, without intersecting ranges: each element of the unit has one owner.
struct Expected {
  Numbers places;
  std::int64_t count = 0, part = 0;

  explicit Expected(const Layout& layout) {
    std::int64_t lines = 0;  // of 16 elements
    for (const std::int64_t elements : layout.counts) {
      places.push_back(16 * lines);
      lines += (elements + 15) / 16;
    }
    const std::int64_t lines_of_part = (lines + layout.ranks - 1) / layout.ranks;
    part = 16 * lines_of_part;
    count = part * layout.ranks;
  }
  // How many of the parameter's elements belong to ranks below this one. Owners never fall, so bisection finds it.
  [[nodiscard]] std::int64_t owned_before(const Layout& layout, std::size_t i, int rank) const {
    std::int64_t low = 0, high = layout.counts[i];
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const bool is_below = (places[i] + middle) / part < rank;
      (is_below ? low : high) = is_below ? middle + 1 : middle;
    }
    return low;
  }
  [[nodiscard]] Elements own(const Layout& layout, std::size_t i, int rank) const {
    return {owned_before(layout, i, rank), owned_before(layout, i, rank + 1)};
  }
};

std::string text_of(const Elements& elements) {
  if (elements.begin == elements.end) return concat("none (", elements.begin, " to ", elements.end, ")");
  return concat("[", elements.begin, ", ", elements.end, ")");
}

std::string text_of(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(layout.counts.size(), 12); ++i)
    text += concat(i == 0 ? "" : ", ", layout.counts[i]);
  if (layout.counts.size() > 12) text += " and more";
  return concat("parameters of ", text, " elements on ", layout.ranks, layout.ranks == 1 ? " rank" : " ranks");
}

bool is_right(const Elements& got, const Elements& expected, std::int64_t count) {
  if (expected.begin == expected.end) return got.begin == got.end && got.begin >= 0 && got.end <= count;
  return got == expected;
}

// The wrong rules that give every rank what it has got. A rule that makes no difference here explains nothing.
std::string explained(const Layout& layout, const std::vector<Elements>& got, std::int64_t unit_count) {
  std::vector<std::string> causes;
  const Expected expected(layout);
  for (const WrongLayout& wrong : kWrongLayouts) {
    bool fits = unit_count == count_by(wrong, layout.counts, layout.ranks), differs = unit_count != expected.count;
    for (std::size_t k = 0; k < got.size() && fits; ++k) {
      const std::size_t i = k % layout.counts.size();
      const auto rank = static_cast<int>(k / layout.counts.size());
      const Elements own = own_by(wrong, layout.counts, i, rank, layout.ranks);
      fits = got[k] == own || (got[k].begin == got[k].end && own.begin == own.end);
      differs = differs || !is_right(own, expected.own(layout, i, rank), layout.counts[i]);
    }
    if (fits && differs) causes.emplace_back(wrong.what);
  }
  return explanation_of(causes);
}

void check_layout(Check& check, const Layout& layout) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"counts", to_message(std::span(layout.counts))}, {"ranks", layout.ranks}};
  }});
  const auto unit_count = check.get<std::int64_t>(outcome, 0, "unit_count");
  const Numbers begins = check.numbers<std::int64_t>(outcome, 0, "begins"),
                ends = check.numbers<std::int64_t>(outcome, 0, "ends");
  std::vector<Elements> got;
  for (std::size_t k = 0; k < std::min(begins.size(), ends.size()); ++k) got.push_back({begins[k], ends[k]});
  const Expected expected(layout);
  check.expect(got.size() == layout.counts.size() * static_cast<std::size_t>(layout.ranks),
               "the program's answer makes no sense");
  const std::string setting = text_of(layout);
  for (std::size_t k = 0; k < got.size(); ++k) {
    const std::size_t i = k % layout.counts.size();
    const auto rank = static_cast<int>(k / layout.counts.size());
    const Elements own = expected.own(layout, i, rank);
    if (is_right(got[k], own, layout.counts[i])) continue;
    if (own.begin == own.end && got[k].begin == got[k].end)
      check.wrong(concat(setting, ": of parameter ", i, " rank ", rank, " owns none; got ", text_of(got[k]),
                         ", which lies outside of the parameter", explained(layout, got, unit_count)),
                  concat("an empty range lies inside the parameter, too: begin = end, from 0 to ", layout.counts[i]));
    check.wrong(concat(setting, ": of parameter ", i, " rank ", rank, " owns ", text_of(own), "; got ", text_of(got[k]),
                       explained(layout, got, unit_count)),
                concat("parameter ", i, " lies at elements ", expected.places[i], " to ",
                       expected.places[i] + layout.counts[i], " of the unit (the end is not included), rank ", rank,
                       "'s part is ", rank * expected.part, " to ", (rank + 1) * expected.part));
  }
  if (unit_count != expected.count)
    check.wrong(concat(setting, ": the unit has ", expected.count, " elements; unit_count() returned ", unit_count,
                       explained(layout, got, unit_count)),
                "gaps and padding count: the unit ends at a multiple of kAlignment * ranks");
}

// The matrices of a GPT's block, and its vectors.
Numbers gpt_counts(std::int64_t width) {
  return {3 * width * width, width * width, 4 * width * width, 4 * width * width, width, 3 * width, width, 4 * width};
}

}  // namespace checks_09_1

void judge_09_1(Examination& exam) {
  using namespace checks_09_1;
  exam.check("2 ranks, one parameter each", [](Check& check) { check_layout(check, {{32, 32}, 2}); });
  exam.check("2 ranks, with gaps between parameters", [](Check& check) {
    check_layout(check, {{20, 5, 10}, 2});
    check_layout(check, {{5, 20, 3, 60}, 2});
  });
  exam.check("3 ranks, with padding at the end", [](Check& check) { check_layout(check, {{20, 5, 32}, 3}); });
  exam.check("one rank owns everything", [](Check& check) { check_layout(check, {{5, 20, 3}, 1}); });
  exam.check("4 ranks, parts that begin in the middle of a parameter", [](Check& check) {
    check_layout(check, {{100}, 4});
    check_layout(check, {{40, 200, 16}, 4});
  });
  exam.check("8 ranks, parameters with fewer elements than that", [](Check& check) {
    check_layout(check, {{3, 1, 7, 1}, 8});
    check_layout(check, {{3, 1, 700}, 8});
  });
  exam.check("ranks that own nothing but padding", [](Check& check) { check_layout(check, {{17}, 4}); });
  exam.check("a parameter without elements", [](Check& check) { check_layout(check, {{16, 0, 40}, 3}); });
  exam.check("3 and 5 ranks, and the example of the task", [](Check& check) {
    for (const int ranks : {3, 5}) check_layout(check, {{7, 64, 33, 1, 250}, ranks});
    check_layout(check, {{20, 5, 30}, 2});
  });
  exam.check("a GPT's block on 8 and 48 ranks", [](Check& check) {
    check_layout(check, {gpt_counts(768), 8});
    check_layout(check, {gpt_counts(100), 48});
  });
  exam.full_check("random sizes", [](Check& check) {
    PhiloxSequence random(check.seed(), 91);
    for (int round = 0; round < 12; ++round) {
      Layout layout{{}, static_cast<int>(1 + random.next_below(12))};
      const std::uint64_t most = round % 2 == 0 ? 20 : 400;
      for (int i = 0; i < 12; ++i) layout.counts.push_back(static_cast<std::int64_t>(1 + random.next_below(most)));
      check_layout(check, layout);
    }
  });
}

}  // namespace lockstep::exercise
