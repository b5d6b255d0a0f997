// Choosing among a library's algorithms, with times that the test makes up.
#include "kernels/algorithm_choices.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::kernels;
using Catch::Matchers::StartsWith;

namespace {

constexpr double kFails = -std::numeric_limits<double>::infinity();

/// Says the times that it was given; kFails: the algorithm cannot compute the product.
class FakeTrial final : public AlgorithmTrial {
 public:
  explicit FakeTrial(std::vector<double> times) : times_(std::move(times)) {}
  void prepare() override { ++prepared; }
  [[nodiscard]] double milliseconds(std::size_t i) override {
    ++timed;
    if (times_.at(i) == kFails) throw Error("not supported");
    return times_.at(i);
  }

  int prepared = 0, timed = 0;

 private:
  std::vector<double> times_;
};

/// An offer of "a0", "a1", ..., one for each time.
AlgorithmOffer offer_of(FakeTrial& trial, std::size_t count, const std::string& product = "1 x [2, 3]") {
  AlgorithmOffer offer{.library = "fakeBLAS 1 on a GPU", .product = product, .algorithms = {}, .trial = &trial};
  for (std::size_t i = 0; i < count; ++i) offer.algorithms.push_back(concat("a", i));
  return offer;
}

std::size_t fastest(const std::vector<double>& times) {
  FakeTrial trial(times);
  return fastest_algorithm(offer_of(trial, times.size()));
}

std::string message_of(std::string_view table) {
  try {
    (void)AlgorithmTable::parse(table, "tables/t.txt");
    return "no error";
  } catch (const FormatError& error) {
    return error.what();
  }
}

const std::string kHead = "lockstep matmul algorithms 1\nfakeBLAS 1 on a GPU\n";

}  // namespace

TEST_CASE("the fastest algorithm is taken, and the suggestion if none is clearly faster", "[kernels]") {
  CHECK(fastest({3.0, 1.0, 2.0}) == 1);
  CHECK(fastest({1.0, 2.0, 3.0}) == 0);
  CHECK(fastest({1.0, 0.99, 0.985}) == 0);
  CHECK(fastest({1.0, 0.99, 0.97}) == 2);
  CHECK(fastest({1.0}) == 0);
}

TEST_CASE("an algorithm that fails, or has no time, is passed over", "[kernels]") {
  CHECK(fastest({NAN, 2.0, 1.0}) == 2);
  CHECK(fastest({NAN, 1.0, 2.0}) == 1);
  CHECK(fastest({2.0, kFails, 1.0}) == 2);
  CHECK(fastest({kFails, kFails, 5.0}) == 2);
  CHECK(fastest({2.0, 0.0, -1.0, INFINITY}) == 0);
  CHECK_THROWS_WITH(fastest({NAN, kFails}),
                    ContainsSubstring("none of the 2 algorithms that fakeBLAS 1 on a GPU offers for 1 x [2, 3]") &&
                        ContainsSubstring("not supported") && ContainsSubstring("--matmul-algorithms first"));
  CHECK_THROWS_WITH(fastest({NAN}), ContainsSubstring("its time is not a positive number"));
}

TEST_CASE("a product is timed once, and never if that is not allowed", "[kernels]") {
  FakeTrial trial({2.0, 1.0});
  AlgorithmChoices timed({.times = true});
  for (int use = 0; use < 3; ++use) CHECK(timed.choose(offer_of(trial, 2)) == 1);
  CHECK(trial.prepared == 1);
  CHECK(trial.timed == 2);

  FakeTrial never({2.0, 1.0});
  AlgorithmChoices untimed({.times = false});
  CHECK(untimed.choose(offer_of(never, 2)) == 0);
  AlgorithmOffer captured = offer_of(never, 2);
  captured.trial = nullptr;
  AlgorithmChoices of_captured({.times = true});
  CHECK(of_captured.choose(captured) == 0);
  CHECK(of_captured.choose(offer_of(never, 2)) == 0);  // the choice stays
  CHECK(never.prepared + never.timed == 0);
  CHECK(timed.id() != untimed.id());
  CHECK(untimed.id() != 0);
}

TEST_CASE("other ranks wait for a decision, not for its preparation", "[kernels]") {
  FakeTrial trial({2.0, 1.0});
  bool was_prepared = false, was_timed = true;
  AlgorithmChoices choices({.times = true, .agree = [&](const AlgorithmDecision& asked) {
                              was_prepared = trial.prepared == 1;
                              was_timed = trial.timed > 0;
                              CHECK(asked.product == "1 x [2, 3]");
                              CHECK(asked.decide() == "a1");
                              return std::string("a0");  // another rank was first
                            }});
  CHECK(choices.choose(offer_of(trial, 2)) == 0);
  CHECK(was_prepared);
  CHECK_FALSE(was_timed);
  AlgorithmChoices misled({.times = false, .agree = [](const auto&) { return std::string("b7"); }});
  CHECK_THROWS_WITH(misled.choose(offer_of(trial, 2)),
                    ContainsSubstring("the choice of another rank: b7 is none of the 2 algorithms"));
}

TEST_CASE("a table of choices comes back from its text, and chooses without timing", "[kernels]") {
  FakeTrial fast({2.0, 1.0}), slow({1.0, 2.0});
  AlgorithmChoices timed({.times = true});
  CHECK(timed.choose(offer_of(fast, 2, "1 x [2, 3] + bias")) == 1);
  CHECK(timed.choose(offer_of(slow, 2, "1 x [2, 3]")) == 0);
  const std::string text = timed.table().text();
  CHECK(text == kHead + "a0 1 x [2, 3]\na1 1 x [2, 3] + bias\n");

  FakeTrial other({1.0, 2.0});
  AlgorithmChoices given({.times = true}, AlgorithmTable::parse(text, "t.txt"));
  CHECK(given.table().text() == text);
  CHECK(given.choose(offer_of(other, 2, "1 x [2, 3] + bias")) == 1);
  CHECK(other.timed == 0);
  AlgorithmChoices resumed({.times = true});
  resumed.set_all(given.table());
  CHECK(resumed.choose(offer_of(other, 2, "1 x [2, 3] + bias")) == 1);
  CHECK(other.timed == 0);
}

TEST_CASE("a table that is damaged, or another library's, is refused with its file and line", "[kernels]") {
  CHECK(message_of(kHead + "a0 1 x [2, 3]\n") == "no error");
  CHECK_THAT(message_of(""), StartsWith("tables/t.txt, line 1: the line is missing"));
  CHECK_THAT(message_of("{}\n"), StartsWith("tables/t.txt, line 1: '{}' stands where"));
  CHECK_THAT(message_of("lockstep matmul algorithms 1\n"), StartsWith("tables/t.txt, line 2: the line is missing"));
  CHECK_THAT(message_of("lockstep matmul algorithms 1\n\n"), StartsWith("tables/t.txt, line 2: the library's name"));
  CHECK_THAT(message_of(kHead + "a0 1 x [2, 3]"), StartsWith("tables/t.txt, line 3: the line has no end"));
  for (const char* const wrong : {"a0", "a0 ", " 1 x [2, 3]", "z0 1 x [2, 3]"})
    CHECK_THAT(message_of(kHead + wrong + "\n"), StartsWith(concat("tables/t.txt, line 3: '", wrong, "' is not")));
  CHECK_THAT(message_of(kHead + "a0 p\na1 q\na2 p\n"),
             StartsWith("tables/t.txt, line 5: a second algorithm for p") && ContainsSubstring("to make a new table"));

  FakeTrial trial({1.0, 2.0});
  AlgorithmChoices foreign({}, AlgorithmTable::parse("lockstep matmul algorithms 1\nfakeBLAS 2 on a GPU\na0 p\n", "t"));
  CHECK_THROWS_WITH(foreign.choose(offer_of(trial, 2)),
                    StartsWith("t, line 2: algorithms of fakeBLAS 2 on a GPU mean nothing to fakeBLAS 1 on a GPU"));
  AlgorithmChoices unknown({}, AlgorithmTable::parse(kHead + "a0 q\naf p\n", "t"));
  CHECK_THROWS_WITH(unknown.choose(offer_of(trial, 2, "p")), StartsWith("t, line 4: af is none of the 2 algorithms"));
}

TEST_CASE("one chooser is the process's at a time", "[kernels]") {
  CHECK(algorithm_chooser() == nullptr);
  const auto choices = std::make_shared<AlgorithmChoices>(ChoiceRule{});
  set_algorithm_chooser(choices);
  CHECK(algorithm_chooser() == choices);
  set_algorithm_chooser(nullptr);
  CHECK(algorithm_chooser() == nullptr);
}
