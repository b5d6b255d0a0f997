#define CATCH_CONFIG_RUNNER
#include <iostream>

#include "support/catch.hpp"
#include "support/skip.hpp"

// Catch2 2.13 has no SKIP(), and version 3's ends a program with another status. So this file counts the cases.
namespace lockstep::test {
namespace {

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

struct Tally {
  int cases = 0;
  int skipped = 0;
  bool is_skipping = false;  // the running case
};

Tally& tally() {
  static Tally cases;
  return cases;
}

struct CountCases : Listener {
  using Listener::Listener;
  void testCaseStarting(const Catch::TestCaseInfo&) override { tally().is_skipping = false; }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ++tally().cases;
    if (tally().is_skipping && stats.totals.assertions.failed == 0) ++tally().skipped;
  }
};

CATCH_REGISTER_LISTENER(CountCases)

}  // namespace

void skip(const std::string& reason) {
  tally().is_skipping = true;
  std::cerr << "skipped: " << reason << std::endl;
  throw Catch::TestFailureException();  // ends a case; only assertions count as failures
}

}  // namespace lockstep::test

// Catch2 returns the number of failed assertions; 77 of them must not look like CTest's "skipped".
int main(int argc, char** argv) {
  using lockstep::test::kSkipped, lockstep::test::tally;
  Catch::Session session;
  if (const int refused = session.applyCommandLine(argc, argv); refused != 0) return refused;
#if !__has_include(<catch2/catch_all.hpp>)
  // A name that matches no case is an error, as with version 3: CTest would call it passed.
  Catch::ConfigData& options = session.configData();
  options.warnings = static_cast<Catch::WarnAbout::What>(options.warnings | Catch::WarnAbout::NoTests);
#endif
  const int status = session.run();
  const int cases = tally().cases, skipped = tally().skipped;
  if (skipped > 0) std::cout << "skipped: " << skipped << " of " << cases << " test cases" << std::endl;
  if (status == 0 && skipped > 0 && skipped == cases) return kSkipped;
  return status == kSkipped ? 1 : status;
}
